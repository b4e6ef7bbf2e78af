"""Is what is returned as valid so, however it is asked? Many tables, models, targets and limits."""
