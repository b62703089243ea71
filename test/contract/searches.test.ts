// The script that measures lists measures all there are: with every order and every filter.
import type { DescField, DescMessage } from "@bufbuild/protobuf"
import { describe, expect, test } from "vitest"
import { elsewhere, isList, type Samples, searchesOf } from "../../scripts/bench/searches.ts"
import { methods } from "../acceptance/service.ts"

const text = () => "1"
const samples: Samples = {
  userId: text,
  person: text,
  organizationId: text,
  organizationName: text,
  projectId: text,
  projectName: text,
  applicationId: text,
  applicationName: text,
  clientId: text,
  groupId: text,
  groupName: text,
  grantId: text,
  authorizationId: text,
  givenName: text,
  familyName: text,
  roleKey: text,
  anywhere: () => 1,
}
const searches = searchesOf(methods, samples)

/** The orders of a list and what its filters are by, as its messages name them. */
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

test("there are lists, and few that are asked for elsewhere", () => {
  expect(lists.length).toBeGreaterThan(45)
  const others = lists.filter((method) => elsewhere(method) !== undefined)
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

describe("is measured with all of its orders and filters:", () => {
  test.each(lists.filter((method) => elsewhere(method) === undefined))("$name", (method) => {
    const asked = searches
      .filter((search) => search.method === method)
      .map((search) => JSON.stringify(search.request()))
    expect(asked.length).toBeGreaterThan(0)
    for (const choice of choices(method.input)) {
      expect(asked).toContainEqual(expect.stringContaining(`"${choice}"`))
    }
  })
})
