// Files run in parallel, tests of one file in sequence: the rows are distributed evenly.
import { testFamilies } from "./families.ts"

testFamilies([
  "access",
  "application",
  "older",
  "organization",
  "signUp",
  "project",
  "factor",
  "self",
  "user",
])
