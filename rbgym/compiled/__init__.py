"""Everything about compiling: options, records whose methods are compiled, machine code on disk."""
