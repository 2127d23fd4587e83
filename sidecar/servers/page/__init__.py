"""The local page: what `supervisor dashboard` opens. It reads, and changes nothing."""
