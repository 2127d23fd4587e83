"""Pull requests and CI, asked through `gh` and `glab`, and only ever asked."""
