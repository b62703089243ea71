// Files run beside each other, the tests of one file one after the other: each has a fair share.
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
