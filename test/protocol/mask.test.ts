// What an update with a mask changes, and what it leaves.
import { create } from "@bufbuild/protobuf"
import { describe, expect, test } from "vitest"
import { UpdateAppleProviderRequestSchema } from "../../src/gen/core/admin/v1/idp_pb.ts"
import { UpdateLoginPolicyRequestSchema } from "../../src/gen/core/admin/v1/policy_pb.ts"
import { mergedWith, selected } from "../../src/protocol/api/mask.ts"

describe("what an update changes", () => {
  const masked = (paths?: string[]) =>
    create(UpdateLoginPolicyRequestSchema, {
      forceMfa: true,
      ...(paths && { updateMask: { paths } }),
    })
  const said = { forceMfa: true, allowRegister: false, allowPasswordless: true }
  const names = { allowPasswordless: ["passwordlessType"] }

  test("is all that it has without a mask", () => {
    expect(selected(masked(), said, names)).toEqual(said)
  })

  test("is what the mask names, also by another name", () => {
    expect(selected(masked(["force_mfa"]), said, names)).toEqual({ forceMfa: true })
    const other = { allowPasswordless: true }
    expect(selected(masked(["passwordless_type"]), said, names)).toEqual(other)
  })

  test("is laid over what is stored, and takes no secret that the mask does not name", () => {
    const request = create(UpdateAppleProviderRequestSchema, {
      id: "i1",
      name: "Apple",
      teamId: "new",
      privateKey: new Uint8Array([1]),
      updateMask: { paths: ["name"] },
    })
    const stored = { name: "old", teamId: "old", privateKey: new Uint8Array() }
    const merged = mergedWith(request, stored)
    expect(merged).toMatchObject({ name: "Apple", teamId: "old", privateKey: new Uint8Array() })
    expect(merged.clientId).toBeUndefined()
  })
})
