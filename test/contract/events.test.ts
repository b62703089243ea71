// Every stored event is presented with an aggregate and type of the contract, or is listed as one
// of Latchkey's own with a reason.
import { expect, test } from "vitest"
import {
  aggregateOf,
  listedNames,
  namesOf,
  namesOfType,
  presentedType,
} from "../../src/kernel/event/name.ts"
import { aggregates } from "../../src/server/modules.ts"
import { tableOf } from "./table.ts"

const contract = new Set(
  tableOf("test/contract/events.tsv").map((row) => `${row.aggregate_type} ${row.event_type}`),
)
const own = tableOf("test/contract/own-events.tsv")
const ownTypes = new Set(own.map((row) => row.event_type))

const stored = aggregates.flatMap(({ stream, evolve }) =>
  Object.keys(evolve).map((type) => ({ stream, type })),
)

const presentEvent = ({ stream, type }: { readonly stream: string; readonly type: string }) =>
  `${aggregateOf(stream, type)} ${presentedType({ type, data: {} })}`

test("each stored type is presented with the contract's names, or is an own event", () => {
  const others = stored.filter(({ type }) => !ownTypes.has(type)).map(presentEvent)
  expect(others.filter((name) => !contract.has(name))).toEqual([])
})

test("each own event is stored, has a reason, and is not in the contract", () => {
  expect(own.filter(({ reason }) => !reason)).toEqual([])
  const kinds = new Map(stored.map((kind) => [kind.type, kind]))
  const wrong = [...ownTypes].filter((type) => {
    const kind = kinds.get(type ?? "")
    return kind === undefined || contract.has(presentEvent(kind))
  })
  expect(wrong).toEqual([])
})

test("other names of a stored type are in the contract", () => {
  const names = stored.flatMap(({ stream, type }) =>
    listedNames(type)
      .filter((name) => name !== type || !ownTypes.has(type))
      .map((name) => ({ stream, name })),
  )
  const types = new Set([...contract].map((row) => row.split(" ")[1]))
  expect(names.filter(({ name }) => !types.has(name))).toEqual([])
})

test("the type of a branding file change names the file", () => {
  const type = "org.policy.label.preview.changed"
  const nameOf = (data: object) => presentedType({ type, data })
  expect(nameOf({ logoDark: "a.png" })).toBe("org.policy.label.logo.dark.added")
  expect(nameOf({ font: "" })).toBe("org.policy.label.font.removed")
  expect(nameOf({ primaryColor: "#fff" })).toBe("org.policy.label.changed")
  expect(nameOf({ logo: "a.png", icon: "b.png" })).toBe("org.policy.label.changed")
  for (const name of ["org.policy.label.logo.added", "org.policy.label.changed", type]) {
    expect(namesOf({ type, data: { logo: "a.png" } })).toContain(name)
  }
})

test("names that depend on the payload belong to the type", () => {
  const type = "instance.policy.login.changed"
  const names = namesOf({ type, data: { secondFactors: ["otp"] } })
  expect(names).toContain("instance.policy.login.secondfactor.removed")
  expect(names).not.toContain("instance.policy.login.multifactor.removed")
  expect(names.filter((name) => !namesOfType(type).includes(name))).toEqual([])
  expect(namesOf({ type, data: { allowRegister: true } })).toEqual([type])
})
