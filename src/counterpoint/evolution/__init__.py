"""How we search: the paper's evolutionary loop and its parts, one file each."""
