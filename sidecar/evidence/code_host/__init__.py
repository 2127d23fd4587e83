"""Pull request and CI gates: the state of both is read with the command line tools of GitHub and GitLab."""
