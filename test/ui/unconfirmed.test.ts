// What the console shows of a promotion that has to be confirmed.
import { Code, ConnectError } from "@connectrpc/connect"
import { expect, test } from "vitest"
import { credentialKinds as serverKinds } from "../../src/domain/user-model/origins.ts"
import { ErrorDetailSchema } from "../../src/gen/core/v1/error_pb.ts"
import { PreconditionFailureSchema } from "../../src/gen/google/rpc/error_details_pb.ts"
import {
  credentialKinds,
  unconfirmedIn,
} from "../../ui/console/administrator/unconfirmed-credentials.ts"
import { refusalOf } from "../../ui/console/shell/refusal.ts"

const refused = (id: string, subjects: readonly string[]) => {
  const violations = subjects.map((subject) => ({ type: "t", subject, description: "d" }))
  const details = [
    { desc: ErrorDetailSchema, value: { id, message: "no" } },
    { desc: PreconditionFailureSchema, value: { violations } },
  ]
  return refusalOf(new ConnectError("no", Code.FailedPrecondition, undefined, details))
}

test("each credential is listed with its creator and its time", () => {
  const subject = "u1/provider_link/l%2F1/1700000000000/boss"
  const other = "u1/password//1700000000001/boss"
  const refusal = refused("member.credentials_unconfirmed", [subject, other])
  const shared = { userId: "u1", by: "boss" }
  expect(unconfirmedIn(refusal)).toEqual([
    { ...shared, subject, kind: "provider_link", id: "l/1", at: 1_700_000_000_000 },
    { ...shared, subject: other, kind: "password", id: "", at: 1_700_000_000_001 },
  ])
})

test("every kind that the server lists is known", () => {
  expect(credentialKinds).toEqual(serverKinds)
})

test("another refusal lists none", () => {
  expect(unconfirmedIn(refused("member.exists", ["u1/password//1/boss"]))).toEqual([])
  expect(unconfirmedIn(undefined)).toEqual([])
})
