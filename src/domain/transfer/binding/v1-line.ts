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
import type { TransferLine } from "../../../protocol/transfer/line.ts"
import type { Cx } from "../../../store/index.ts"
import { type ExportScope, exportPieces } from "./v1-export.ts"
import { type FailedItem, type ImportReport, importOrgs } from "./v1-import.ts"

/** An export as JSON lines, each an organization with one item. */
export async function* exportLines(cx: Cx, scope: ExportScope): AsyncGenerator<string> {
  for await (const piece of exportPieces(cx, scope, () => undefined)) {
    yield toJsonString(DataOrgSchema, piece)
  }
}

type LinesInput = {
  readonly lines: readonly TransferLine[]
  /** The organizations that this import has created so far. */
  readonly createdOrgs: Set<string>
}

/** Imports lines; see `importOrgs`. An invalid line is identified by its number. */
export async function importLines(
  cx: Cx,
  { lines, createdOrgs }: LinesInput,
): Promise<{ readonly taken: number; readonly refused: readonly FailedItem[] }> {
  const refused: FailedItem[] = []
  let taken = 0
  const report = {
    taken: () => taken++,
    refused: (each: FailedItem) => refused.push(each),
  }
  await importOrgs(cx, parseOrgs(lines, report), { report, createdOrgs, isLate: () => false })
  return { taken, refused }
}

/** Merges the lines of each organization. */
export function parseOrgs(
  lines: readonly TransferLine[],
  { refused }: Pick<ImportReport, "refused">,
): readonly DataOrg[] {
  const parts = new Map<string, Uint8Array[]>()
  for (const { number, text } of lines) {
    const org = parseLine(text)
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

/** An organization, or why the line is invalid. */
function parseLine(line: string): DataOrg | string {
  try {
    const org = fromJsonString(DataOrgSchema, line)
    return org.orgId === "" ? "orgId is required" : org
  } catch (cause) {
    if (cause instanceof Error) {
      // The error quotes the invalid text, regardless of its length.
      return `the line is not a valid organization in JSON: ${cause.message.slice(0, 300)}`
    }
    throw cause
  }
}

/**
 * Converts an organization from the older format: fields with the same name are unchanged, parts of
 * the login policy are moved into it, and its first policy has a different meaning.
 */
export function fromOlderFormat(older: Older): DataOrg {
  const json = toJson(OlderSchema, older)
  const org = fromJson(DataOrgSchema, json, { ignoreUnknownFields: true })
  const { orgId, iamPolicy, secondFactors, multiFactors, idps } = older
  if (iamPolicy) {
    const { userLoginMustBeDomain } = iamPolicy
    const policyFields = { orgId, userLoginMustBeDomain }
    org.domainPolicy = create(AddCustomDomainPolicyRequestSchema, policyFields)
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
