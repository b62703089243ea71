import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { DescMessage } from "@bufbuild/protobuf"
import { expect, test } from "vitest"
import { file_core_policy_v1_policy } from "../../src/gen/core/policy/v1/policy_pb.ts"
import {
  OIDCSettingsSchema,
  SecretGeneratorSchema,
  SecurityPolicySchema,
} from "../../src/gen/core/settings/v1/settings_pb.ts"
import { disagreements, tableOf } from "./table.ts"

/** What no decision hangs from: where a policy stands, and whose it is. */
const aboutItself = new Set(["details", "is_default", "generator_type"])

/** A message of settings with those that it is made of. */
const withParts = (message: DescMessage): DescMessage[] => [
  message,
  ...message.fields.flatMap(({ message: part }) =>
    part?.typeName.startsWith("core.settings.v1.") ? withParts(part) : [],
  ),
]

const policies = [
  ...file_core_policy_v1_policy.messages,
  ...[OIDCSettingsSchema, SecretGeneratorSchema, SecurityPolicySchema].flatMap(withParts),
]

const fields = policies.flatMap((policy) =>
  policy.fields
    .filter(({ name }) => !aboutItself.has(name))
    .map(({ name, localName }) => ({ row: `${policy.name}\t${name}`, localName })),
)

const golden = tableOf("test/contract/policies.tsv")

const root = join(import.meta.dirname, "../..")

test("every field of a policy says where it is asked", () => {
  const listed = golden.map(({ policy, field }) => `${policy}\t${field}`)
  const remedy = "say in test/contract/policies.tsv who asks it; what nobody asks is no use"
  expect(
    disagreements(
      fields.map(({ row }) => row),
      listed,
    ),
    remedy,
  ).toEqual([])
})

test("who is said to ask a field does so, and a test names the policy", () => {
  const wrong = golden.flatMap(({ policy, field, asked = "", test = "" }) => {
    const name = fields.find(({ row }) => row === `${policy}\t${field}`)?.localName ?? ""
    // What it is called inside stands behind a "#", where that is something else.
    const [path = "", inside = name] = asked.split("#")
    const isAsked = existsSync(join(root, path)) && textOf(path).includes(inside)
    const isTested =
      existsSync(join(root, test)) && [name, inside].some((each) => textOf(test).includes(each))
    return isAsked && isTested ? [] : [`${policy} ${field}`]
  })
  expect(wrong).toEqual([])
})

const textOf = (path: string) => readFileSync(join(root, path), "utf8")
