"""What data look like: conditional samplers and densities, learnt from the observed rows."""
