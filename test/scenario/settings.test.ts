// Files run beside each other, the tests of one file one after the other: each has a fair share.
import { testFamilies } from "./families.ts"

testFamilies(["policy", "message", "messageProvider", "asset", "target", "history"])
