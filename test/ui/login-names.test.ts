import { expect, test } from "vitest"
import { visibleLoginNames } from "../../ui/console/user/login-names.ts"

const [mail, long] = ["alice@acme.com", "alice@acme.com@acme.localhost"]

test.each([
  ["a name of their own", ["alice", "alice@acme.localhost"], "", ["alice"]],
  ["their verified address", [mail, long], "Alice@acme.com", [mail]],
  ["an address that others may have proven", [mail, long], "", [mail, long]],
  ["digits, which may be a phone number", ["4179", "4179@a.test"], "", ["4179", "4179@a.test"]],
  ["nothing but longer forms", ["alice@acme.localhost"], "", ["alice@acme.localhost"]],
  ["one of two that begin alike", ["al", "al@a.test", "alice@a.test"], "", ["al", "alice@a.test"]],
])("login names are shown without a domain behind %s", (_, names, email, displayed) => {
  expect(visibleLoginNames(names, email || undefined)).toEqual(displayed)
})
