"""The nouns: frozen structs, no behaviour beyond arithmetic. Nothing here knows files, clocks or hosts."""
