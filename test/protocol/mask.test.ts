// The fields that an update with a mask changes and keeps.
import { create } from "@bufbuild/protobuf"
import { describe, expect, test } from "vitest"
import { UpdateAppleProviderRequestSchema } from "../../src/gen/core/admin/v1/idp_pb.ts"
import { UpdateLoginPolicyRequestSchema } from "../../src/gen/core/admin/v1/policy_pb.ts"
import { mergeWithStored, selectMasked } from "../../src/protocol/api/mask.ts"

describe("the changes of an update", () => {
  const masked = (paths?: string[]) =>
    create(UpdateLoginPolicyRequestSchema, {
      forceMfa: true,
      ...(paths && { updateMask: { paths } }),
    })
  const said = { forceMfa: true, allowRegister: false, allowPasswordless: true }
  const names = { allowPasswordless: ["passwordlessType"] }

  test("are all fields without a mask", () => {
    expect(selectMasked(masked(), said, names)).toEqual(said)
  })

  test("are the fields of the mask, also by another name", () => {
    expect(selectMasked(masked(["force_mfa"]), said, names)).toEqual({ forceMfa: true })
    const other = { allowPasswordless: true }
    expect(selectMasked(masked(["passwordless_type"]), said, names)).toEqual(other)
  })

  test("are merged into the stored state, without secrets outside the mask", () => {
    const request = create(UpdateAppleProviderRequestSchema, {
      id: "i1",
      name: "Apple",
      teamId: "new",
      privateKey: new Uint8Array([1]),
      updateMask: { paths: ["name"] },
    })
    const stored = { name: "old", teamId: "old", privateKey: new Uint8Array() }
    const merged = mergeWithStored(request, stored)
    expect(merged).toMatchObject({ name: "Apple", teamId: "old", privateKey: new Uint8Array() })
    expect(merged.clientId).toBeUndefined()
  })
})
