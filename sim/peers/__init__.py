"""What stands at the far end of the cable, real verbs stacks and the strict model, behind one small interface."""
