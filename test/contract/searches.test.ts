// The script that measures lists covers all of them, with every order and every filter.
import type { DescField, DescMessage } from "@bufbuild/protobuf"
import { describe, expect, test } from "vitest"
import { exclusionReason, isList, type Samples, searchesOf } from "../../scripts/bench/searches.ts"
import { methods } from "../acceptance/service.ts"

const sampleText = () => "1"
const samples: Samples = {
  userId: sampleText,
  person: sampleText,
  organizationId: sampleText,
  organizationName: sampleText,
  projectId: sampleText,
  projectName: sampleText,
  applicationId: sampleText,
  applicationName: sampleText,
  clientId: sampleText,
  groupId: sampleText,
  groupName: sampleText,
  grantId: sampleText,
  authorizationId: sampleText,
  givenName: sampleText,
  familyName: sampleText,
  roleKey: sampleText,
  randomOffset: () => 1,
}
const searches = searchesOf(methods, samples)

/** The orders and filters of a list, by the names of its messages. */
function choices(message: DescMessage): readonly string[] {
  return message.fields.flatMap((field) => [...ordersOf(field), ...filtersOf(field)])
}

const ordersOf = (field: DescField): readonly string[] =>
  field.fieldKind === "enum" ? field.enum.values.map(({ name }) => name) : []

const filtersOf = (field: DescField): readonly string[] =>
  field.fieldKind === "list" && field.listKind === "message"
    ? field.message.fields.map(({ jsonName }) => jsonName)
    : []

const lists = methods.filter(isList)

test("finds the lists, few of which need special requests", () => {
  expect(lists.length).toBeGreaterThan(45)
  const others = lists.filter((method) => exclusionReason(method) !== undefined)
  const instances = [
    "ListInstances",
    "ListCustomDomains",
    "ListTrustedDomains",
    "ListIAMMembers",
    "ListFailedEvents",
    "ListViews",
  ]
  expect(others.map(({ name }) => name)).toEqual(instances)
})

describe("measures all orders and filters:", () => {
  test.each(lists.filter((method) => exclusionReason(method) === undefined))("$name", (method) => {
    const asked = searches
      .filter((search) => search.method === method)
      .map((search) => JSON.stringify(search.request()))
    expect(asked.length).toBeGreaterThan(0)
    for (const choice of choices(method.input)) {
      expect(asked).toContainEqual(expect.stringContaining(`"${choice}"`))
    }
  })
})
