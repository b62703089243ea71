import { create, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf"
import { expect, test } from "vitest"
import { redact } from "../../src/api/redact.ts"
import { CreateApplicationResponseSchema } from "../../src/gen/core/application/v2/application_service_pb.ts"
import { AddOrganizationRequestSchema } from "../../src/gen/core/org/v2/organization_service_pb.ts"
import {
  AddKeyResponseSchema,
  UpdateUserRequestSchema,
} from "../../src/gen/core/user/v2/user_service_pb.ts"

const redactMessage = <D extends DescMessage>(schema: D, init: MessageInitShape<D>) =>
  redact(schema, create(schema, init))

test("hides secrets at any depth: in lists, in oneofs, as bytes", () => {
  const admin = {
    userType: {
      case: "human" as const,
      value: {
        username: "ada",
        passwordType: { case: "hashedPassword" as const, value: { hash: "$2b$" } },
      },
    },
  }
  expect(
    redactMessage(AddOrganizationRequestSchema, { name: "n", admins: [admin, admin] }),
  ).toEqual({
    name: "n",
    admins: [
      { human: { username: "ada", hashedPassword: { hash: "***" } } },
      { human: { username: "ada", hashedPassword: { hash: "***" } } },
    ],
  })
  expect(
    redactMessage(AddKeyResponseSchema, { keyId: "k", keyContent: new Uint8Array([1]) }),
  ).toEqual({
    keyId: "k",
    keyContent: "***",
  })
  const change = {
    userType: {
      case: "human" as const,
      value: {
        password: {
          passwordType: { case: "password" as const, value: { password: "new" } },
          verification: { case: "currentPassword" as const, value: "old" },
        },
      },
    },
  }
  expect(redactMessage(UpdateUserRequestSchema, { userId: "u", ...change })).toEqual({
    userId: "u",
    human: { password: { password: { password: "***" }, currentPassword: "***" } },
  })
})

test("keeps all other fields readable, including times", () => {
  const applicationType = {
    case: "oidcConfiguration" as const,
    value: { clientId: "c", clientSecret: "s" },
  }
  const creationDate = { seconds: 0n }
  expect(
    redactMessage(CreateApplicationResponseSchema, {
      applicationId: "a",
      creationDate,
      applicationType,
    }),
  ).toEqual({
    applicationId: "a",
    creationDate: "1970-01-01T00:00:00Z",
    oidcConfiguration: { clientId: "c", clientSecret: "***" },
  })
})
