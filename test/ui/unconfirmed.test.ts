// The console's view of an administrator role that must be confirmed.
import { Code, ConnectError } from "@connectrpc/connect"
import { expect, test } from "vitest"
import { credentialKinds as serverKinds } from "../../src/domain/user-model/origins.ts"
import { ErrorDetailSchema } from "../../src/gen/core/v1/error_pb.ts"
import { PreconditionFailureSchema } from "../../src/gen/google/rpc/error_details_pb.ts"
import {
  credentialKinds,
  parseUnconfirmed,
} from "../../ui/console/administrator/unconfirmed-credentials.ts"
import { refusalOf } from "../../ui/console/shell/refusal.ts"

const createRejection = (id: string, subjects: readonly string[]) => {
  const violations = subjects.map((subject) => ({ type: "t", subject, description: "d" }))
  const details = [
    { desc: ErrorDetailSchema, value: { id, message: "no" } },
    { desc: PreconditionFailureSchema, value: { violations } },
  ]
  return refusalOf(new ConnectError("no", Code.FailedPrecondition, undefined, details))
}

test("lists each credential with its creator and its time", () => {
  const subject = "u1/provider_link/l%2F1/1700000000000/boss"
  const other = "u1/password//1700000000001/boss"
  const refusal = createRejection("member.credentials_unconfirmed", [subject, other])
  const shared = { userId: "u1", by: "boss" }
  expect(parseUnconfirmed(refusal)).toEqual([
    { ...shared, subject, kind: "provider_link", id: "l/1", at: 1_700_000_000_000 },
    { ...shared, subject: other, kind: "password", id: "", at: 1_700_000_000_001 },
  ])
})

test("knows every kind that the server lists", () => {
  expect(credentialKinds).toEqual(serverKinds)
})

test("lists none for another error", () => {
  expect(parseUnconfirmed(createRejection("member.exists", ["u1/password//1/boss"]))).toEqual([])
  expect(parseUnconfirmed(undefined)).toEqual([])
})
