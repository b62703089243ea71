import type { JsonObject } from "@bufbuild/protobuf"
import { type Code, Fault, fieldError, type LaterChange } from "../kernel/fault.ts"

/** How each code travels: its gRPC number and the HTTP status that REST and Connect answer. */
const travel = {
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

export const grpcNumber = (code: Code) => travel[code].grpc
export const httpStatus = (code: Code) => travel[code].http

/** What a caller reads: the words first, then the id to search for. */
export const textOf = ({ message, id }: Fault): string => `${message} (${id})`

/** A message that says more: its full name, and itself in the JSON form of Protobuf. */
export type Detail = { readonly type: string; readonly value: JsonObject }

/** What a failure says beside its code: always its id, and what field or condition it is about. */
export function detailsOf({
  id,
  message,
  violation,
  preconditions,
  change,
}: Fault): readonly Detail[] {
  return [
    { type: "core.v1.ErrorDetail", value: { id, message, ...(change && changeIn(change)) } },
    ...(violation
      ? [{ type: "google.rpc.BadRequest", value: { fieldViolations: [violation] } }]
      : []),
    ...(preconditions.length > 0
      ? [{ type: "google.rpc.PreconditionFailure", value: { violations: [...preconditions] } }]
      : []),
  ]
}

const changeIn = ({ userId, displayName, time }: LaterChange): JsonObject => ({
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

/** What an unknown path answers, word for word as clients of such services know it. */
export const nothingHere = { code: grpcNumber("not_found"), message: "Not Found", details: [] }

export const tokenMissingError = () =>
  new Fault(
    "unauthenticated",
    "access.token_missing",
    "this needs a token; send it in the Authorization header as Bearer",
  )

export const deniedError = (permission: string) =>
  new Fault("permission_denied", "access.denied", `this needs the permission ${permission}`)

/** The field that names what a request is about, by its path of proto names. */
export const idMissingError = (field: string) =>
  fieldError("request.id_missing", field, "is missing; it says what this is about")

/** One text for what is not there and for what is somebody else's. */
export function absentError(resource: string): Fault {
  const kind = sameAs[resource] ?? resource
  return new Fault("not_found", `${kind}.missing`, `there is no such ${names[kind] ?? kind}`)
}

/** Kinds that differ only in how they are named, or in who reaches them. */
const sameAs: Readonly<Record<string, string>> = {
  grant_id: "grant",
  held_project: "project",
  org_domain: "org",
  shared_project: "project",
}

const names: Readonly<Record<string, string>> = {
  app: "application",
  app_key: "key",
  grant: "project grant",
  org: "organisation",
  sign_up_link: "sign-up link",
  sign_up_request: "sign-up request",
}
