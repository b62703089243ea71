// Switches of a policy whose label states the opposite of the field: "Allow", where it disables.
import { create } from "@bufbuild/protobuf"
import { describe, expect, test } from "vitest"
import { LabelPolicySchema, LoginPolicySchema } from "../../src/gen/core/policy/v1/policy_pb.ts"
import {
  normalizeValues,
  toFormValues,
  toRequestValue,
} from "../../ui/console/policy/field-values.ts"
import { policies } from "../../ui/console/policy/policies.ts"
import en from "../../ui/console/shell/texts/pages.en.json"

const texts: Readonly<Record<string, string>> = en

/** Names with which a field turns something off. */
const isNegative = (name: string) => /^(disable|hide|ignore|not|no|skip|without)[A-Z]/.test(name)

const switches = policies.flatMap(({ name, fields }) =>
  fields.filter(({ kind }) => kind === "check").map((field) => ({ policy: name, field })),
)

const policyNamed = (name: string) => {
  const policy = policies.find((each) => each.name === name)
  if (!policy) throw new Error(`no policy ${name}`)
  return policy
}

const rows = [
  ["login", "disableLoginWithEmail", LoginPolicySchema],
  ["login", "disableLoginWithPhone", LoginPolicySchema],
  ["login", "hidePasswordReset", LoginPolicySchema],
  ["branding", "disableWatermark", LabelPolicySchema],
  ["branding", "hideLoginNameSuffix", LabelPolicySchema],
] as const

describe.each(rows)("%s: %s", (policyName, name, schema) => {
  const policy = policyNamed(policyName)
  const field = policy.fields.find((each) => each.name === name)
  if (!field) throw new Error(`no field ${name}`)

  test("is on where the field is false, and off where it is true", () => {
    for (const value of [false, true]) {
      const values = toFormValues(policy, create(schema, { [name]: value }))
      expect(values[name]).toBe(!value)
      expect(toRequestValue(field, values)).toBe(value)
      expect(normalizeValues([field], values)).toEqual({ [name]: !value })
    }
  })

  test("has a label that allows or shows something", () => {
    expect(texts[field.label]).toMatch(/^(Allow|Show) /)
  })
})

test("no other switch is labeled by what it turns off", () => {
  const inverted = rows.map(([, name]) => name)
  const negative = switches
    .filter(
      ({ field }) =>
        isNegative(field.name) || /^(Disable|Hide|Ignore|No |Don't)/.test(texts[field.label] ?? ""),
    )
    .map(({ field }) => field.name)
    .filter((name) => !inverted.some((each) => each === name))
  // "Protect against user enumeration": the label is positive, and so is the value.
  expect(negative).toEqual(["ignoreUnknownUsernames"])
})

test("other switches are on where their field is true", () => {
  const policy = policyNamed("login")
  const values = toFormValues(policy, create(LoginPolicySchema, { forceMfa: true }))
  expect([values.forceMfa, values.allowRegister]).toEqual([true, false])
})
