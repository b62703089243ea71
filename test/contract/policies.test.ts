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
import { formatDifferences, tableOf } from "./table.ts"

/** Fields without effect on decisions: where a policy is defined and who owns it. */
const metadataFields = new Set(["details", "is_default", "generator_type"])

/** A settings message and its nested messages. */
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
    .filter(({ name }) => !metadataFields.has(name))
    .map(({ name, localName }) => ({ row: `${policy.name}\t${name}`, localName })),
)

const golden = tableOf("test/contract/policies.tsv")

const root = join(import.meta.dirname, "../..")

test("every policy field names the place that evaluates it", () => {
  const listed = golden.map(({ policy, field }) => `${policy}\t${field}`)
  const remedy = "say in test/contract/policies.tsv who asks it; what nobody asks is no use"
  expect(
    formatDifferences(
      fields.map(({ row }) => row),
      listed,
    ),
    remedy,
  ).toEqual([])
})

test("the named place evaluates the field, and a test names the policy", () => {
  const wrong = golden.flatMap(({ policy, field, asked = "", test = "" }) => {
    const name = fields.find(({ row }) => row === `${policy}\t${field}`)?.localName ?? ""
    // The name within another resource follows a "#".
    const [path = "", inside = name] = asked.split("#")
    const isAsked = existsSync(join(root, path)) && textOf(path).includes(inside)
    const isTested =
      existsSync(join(root, test)) && [name, inside].some((each) => textOf(test).includes(each))
    return isAsked && isTested ? [] : [`${policy} ${field}`]
  })
  expect(wrong).toEqual([])
})

const textOf = (path: string) => readFileSync(join(root, path), "utf8")
