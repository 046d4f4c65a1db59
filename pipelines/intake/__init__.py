"""From the vault's files to rows of `document`."""
