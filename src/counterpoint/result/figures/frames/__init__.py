"""What each figure shows, as frames: one function per figure."""
