import {
  create,
  fromBinary,
  fromJson,
  fromJsonString,
  toBinary,
  toJson,
  toJsonString,
} from "@bufbuild/protobuf"
import { type DataOrg, DataOrgSchema } from "../../../gen/core/admin/v1/data_pb.ts"
import { AddCustomDomainPolicyRequestSchema } from "../../../gen/core/admin/v1/policy_pb.ts"
import {
  AddCustomLoginPolicyRequest_IDPSchema,
  AddCustomLoginPolicyRequestSchema,
} from "../../../gen/core/management/v1/policy_pb.ts"
import {
  type DataOrg as Older,
  DataOrgSchema as OlderSchema,
} from "../../../gen/core/v1/v1/data_pb.ts"
import type { Line } from "../../../protocol/transfer/line.ts"
import type { Cx } from "../../../store/index.ts"
import { piecesOf, type Wanted } from "./v1-export.ts"
import { type Refused, type Report, takeOver } from "./v1-import.ts"

/** An export as lines of JSON: each is an organisation with one thing in it. */
export async function* linesOf(cx: Cx, wanted: Wanted): AsyncGenerator<string> {
  for await (const piece of piecesOf(cx, wanted, () => undefined)) {
    yield toJsonString(DataOrgSchema, piece)
  }
}

type Lines = {
  readonly lines: readonly Line[]
  /** The organisations that the same import has made so far. */
  readonly made: Set<string>
}

/** Takes lines over; see `takeOver`. A line that can't be read is named by its number. */
export async function takeLines(
  cx: Cx,
  { lines, made }: Lines,
): Promise<{ readonly taken: number; readonly refused: readonly Refused[] }> {
  const refused: Refused[] = []
  let taken = 0
  const report = {
    taken: () => taken++,
    refused: (each: Refused) => refused.push(each),
  }
  await takeOver(cx, orgsIn(lines, report), { report, made, isLate: () => false })
  return { taken, refused }
}

/** What lines say, put together organisation by organisation. */
export function orgsIn(
  lines: readonly Line[],
  { refused }: Pick<Report, "refused">,
): readonly DataOrg[] {
  const parts = new Map<string, Uint8Array[]>()
  for (const { number, text } of lines) {
    const org = read(text)
    if (typeof org === "string") {
      refused({ type: "line", orgId: "", id: `${number}`, message: org })
      continue
    }
    const known = parts.get(org.orgId) ?? []
    if (known.length === 0) parts.set(org.orgId, known)
    known.push(toBinary(DataOrgSchema, org))
  }
  return [...parts.values()].map((each) => fromBinary(DataOrgSchema, Buffer.concat(each)))
}

/** An organisation, or why a line is none. */
function read(line: string): DataOrg | string {
  try {
    const org = fromJsonString(DataOrgSchema, line)
    return org.orgId === "" ? "orgId is missing" : org
  } catch (cause) {
    if (cause instanceof Error) {
      // It quotes what it could not read, however long that is.
      return `this is no organisation in JSON: ${cause.message.slice(0, 300)}`
    }
    throw cause
  }
}

/**
 * An organisation of the older form in the present one: the fields of the same name are the same,
 * what it says of a login policy beside it belongs there, and its first policy is another now.
 */
export function presentOf(older: Older): DataOrg {
  const json = toJson(OlderSchema, older)
  const org = fromJson(DataOrgSchema, json, { ignoreUnknownFields: true })
  const { orgId, iamPolicy, secondFactors, multiFactors, idps } = older
  if (iamPolicy) {
    const { userLoginMustBeDomain } = iamPolicy
    const said = { orgId, userLoginMustBeDomain }
    org.domainPolicy = create(AddCustomDomainPolicyRequestSchema, said)
  }
  if (secondFactors.length + multiFactors.length + idps.length > 0) {
    org.loginPolicy ??= create(AddCustomLoginPolicyRequestSchema)
    org.loginPolicy.secondFactors.push(...secondFactors.map(({ type }) => type))
    org.loginPolicy.multiFactors.push(...multiFactors.map(({ type }) => type))
    org.loginPolicy.idps.push(
      ...idps.map(({ idpId, ownerType }) =>
        create(AddCustomLoginPolicyRequest_IDPSchema, { idpId, ownerType }),
      ),
    )
  }
  return org
}
