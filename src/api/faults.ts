import type { JsonObject } from "@bufbuild/protobuf"
import { type Code, Fault, fieldError, type LaterChange } from "../kernel/fault.ts"

/** The gRPC number and the HTTP status of each code. */
const codeNumbers = {
  canceled: { grpc: 1, http: 499 },
  unknown: { grpc: 2, http: 500 },
  invalid_argument: { grpc: 3, http: 400 },
  deadline_exceeded: { grpc: 4, http: 504 },
  not_found: { grpc: 5, http: 404 },
  already_exists: { grpc: 6, http: 409 },
  permission_denied: { grpc: 7, http: 403 },
  resource_exhausted: { grpc: 8, http: 429 },
  failed_precondition: { grpc: 9, http: 400 },
  aborted: { grpc: 10, http: 409 },
  out_of_range: { grpc: 11, http: 400 },
  unimplemented: { grpc: 12, http: 501 },
  internal: { grpc: 13, http: 500 },
  unavailable: { grpc: 14, http: 503 },
  data_loss: { grpc: 15, http: 500 },
  unauthenticated: { grpc: 16, http: 401 },
} as const satisfies Record<Code, { readonly grpc: number; readonly http: number }>

export const grpcNumber = (code: Code) => codeNumbers[code].grpc
export const httpStatus = (code: Code) => codeNumbers[code].http

/** The message of a fault followed by its ID. */
export const textOf = ({ message, id }: Fault): string => `${message} (${id})`

/** An error detail: its full message name and its value in proto3 JSON. */
export type Detail = { readonly type: string; readonly value: JsonObject }

/** The details of a fault: its ID, and the invalid field, failed preconditions or later change. */
export function detailsOf({
  id,
  message,
  violation,
  preconditions,
  change,
}: Fault): readonly Detail[] {
  return [
    { type: "core.v1.ErrorDetail", value: { id, message, ...(change && changeDetail(change)) } },
    ...(violation
      ? [{ type: "google.rpc.BadRequest", value: { fieldViolations: [violation] } }]
      : []),
    ...(preconditions.length > 0
      ? [{ type: "google.rpc.PreconditionFailure", value: { violations: [...preconditions] } }]
      : []),
  ]
}

const changeDetail = ({ userId, displayName, time }: LaterChange): JsonObject => ({
  ...(userId && { changedByUserId: userId, changedBy: displayName }),
  changeDate: new Date(time).toISOString(),
})

/** The body of a failed REST call: google.rpc.Status in JSON. */
export const statusOf = (fault: Fault): object => ({
  code: grpcNumber(fault.code),
  message: textOf(fault),
  details: detailsOf(fault).map(({ type, value }) => ({
    "@type": `type.googleapis.com/${type}`,
    ...value,
  })),
})

/** The body for an unknown path, exactly as clients of such services expect it. */
export const unknownPathBody = { code: grpcNumber("not_found"), message: "Not Found", details: [] }

export const tokenMissingError = () =>
  new Fault(
    "unauthenticated",
    "access.token_missing",
    "a token is required; send it in the Authorization header as Bearer",
  )

export const deniedError = (permission: string) =>
  new Fault("permission_denied", "access.denied", `permission denied: ${permission} is required`)

/** The field that identifies the resource, as a path of proto names. */
export const missingIdError = (field: string) =>
  fieldError("request.id_missing", field, "is required")

/** Uses the same text for a missing resource and for one that the caller can't access. */
export function notFoundError(resource: string): Fault {
  const kind = kindAliases[resource] ?? resource
  return new Fault("not_found", `${kind}.missing`, `${kindNames[kind] ?? kind} not found`)
}

/** Resource kinds with the same name in error messages. */
const kindAliases: Readonly<Record<string, string>> = {
  grant_id: "grant",
  held_project: "project",
  org_domain: "org",
  shared_project: "project",
}

const kindNames: Readonly<Record<string, string>> = {
  app: "application",
  app_key: "key",
  grant: "project grant",
  org: "organization",
  sign_up_link: "sign-up link",
  sign_up_request: "sign-up request",
}
