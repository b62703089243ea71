// Code that doesn't compile: form fields with names that their values or messages don't have.
import { expect, test } from "vitest"
import { AdminService } from "../../src/gen/core/admin/v1/admin_service_pb.ts"
import type { Provider } from "../../src/gen/core/idp/v1/idp_pb.ts"
import { ManagementService } from "../../src/gen/core/management/v1/management_service_pb.ts"
import { applyEdits, toPartial, withChange } from "../../ui/console/form/edits.ts"
import type { Controls, Form } from "../../ui/console/form/index.ts"
import type { FieldNameOf } from "../../ui/console/idp/form-fields.ts"
import {
  checkField,
  definePolicy,
  fieldTexts,
  policyTexts,
} from "../../ui/console/policy/policy.ts"
import type { Operation } from "../../ui/console/shell/index.ts"

type Values = { readonly name: string; readonly isOn: boolean; readonly kind: "a" | "b" }
const values: Values = { name: "", isOn: false, kind: "a" }

test("a form is changed by names and types of its values", () => {
  const use = (form: Form<Values>, { text, check: turned, choice }: Controls<Values>) => {
    form.put("kind", "b")
    // @ts-expect-error no value has this name
    form.put("nme", "x")
    // @ts-expect-error it is one of two texts
    form.put("kind", "c")
    // @ts-expect-error no value has this name
    form.change({ nme: "x" })
    // @ts-expect-error no value has this name
    text("nme", "Name")
    // @ts-expect-error an entered text can be any string
    text("kind", "Kind")
    // @ts-expect-error it is a string
    turned("name", "Name")
    // @ts-expect-error "c" is not one of its values
    choice("kind", "Kind", { of: ["a", "c"], label: String })
  }
  expect(use).toHaveLength(2)
  expect(toPartial<Values, string>("name", "x")).toEqual({ name: "x" })
  // @ts-expect-error it is a string
  toPartial<Values, boolean>("name", true)
})

test("edits are those of the form's values", () => {
  const edits = withChange({}, { now: values, changed: { name: "x" } })
  expect(applyEdits(values, edits).values.name).toBe("x")
  // @ts-expect-error no value has this name
  expect(applyEdits(values, edits).values.nme).toBeUndefined()
  // @ts-expect-error no value has this name
  expect(withChange({}, { now: values, changed: { nme: "x" } })).toHaveProperty("nme")
})

test("a policy form has fields of its message", () => {
  const { named } = fieldTexts("policy.lockout")
  const operations = {
    instance: {
      get: AdminService.method.getLockoutPolicy,
      update: AdminService.method.updateLockoutPolicy,
    },
    organization: {
      get: ManagementService.method.getLockoutPolicy,
      inherited: ManagementService.method.getDefaultLockoutPolicy,
      add: ManagementService.method.addCustomLockoutPolicy,
      update: ManagementService.method.updateCustomLockoutPolicy,
      reset: ManagementService.method.resetLockoutPolicyToDefault,
    },
  }
  const lockout = definePolicy({
    ...policyTexts("policy.lockout"),
    ...operations,
    fields: [{ ...named("maxOtpAttempts"), kind: "count", min: 0, max: 9 }],
  })
  expect(lockout.fields).toHaveLength(1)
  definePolicy({
    ...policyTexts("policy.lockout"),
    ...operations,
    // @ts-expect-error it is a field of another policy
    fields: [{ name: "minLength", label: "policy.complexity.minLength", ...count }],
  })
  definePolicy({
    ...policyTexts("policy.lockout"),
    ...operations,
    // @ts-expect-error no policy has this field
    fields: [checkField(named("maxAttempts"))],
  })
})

const count = { kind: "count", min: 0, max: 9 } as const

test("an identity provider form has fields of its configuration", () => {
  const saml: FieldNameOf<"saml"> = "metadataXml"
  // @ts-expect-error it is a field of a directory
  const ldap: FieldNameOf<"saml"> = "baseDn"
  expect([saml, ldap]).toEqual(["metadataXml", "baseDn"])
})

test("an operation is called and read with fields of its messages", () => {
  const { getProviderByID } = AdminService.method
  const read: Operation<{ id: string }, { idp?: Provider | undefined }> = getProviderByID
  // @ts-expect-error its request lacks the field
  const call: Operation<{ idpId: string }> = getProviderByID
  // @ts-expect-error its response lacks the field
  const answer: Operation<{ id: string }, { provider?: Provider | undefined }> = getProviderByID
  expect([call, answer]).toEqual([read, read])
})
