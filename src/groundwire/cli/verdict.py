"""What correction bought, in one line for each control arm: `reflection helped`, `hurt`, or `can't tell`."""
