import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import {
  type DataOrg,
  DataOrgSchema,
  type ImportDataErrorSchema,
  ImportDataSuccessOrgSchema,
} from "../../../gen/core/admin/v1/data_pb.ts"
import { OrgState } from "../../../gen/core/org/v1/org_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { isOrgThere } from "../../org/index.ts"
import { isOurs, messageOf } from "../fault.ts"
import { mustHold } from "./v1-export.ts"
import { isToStop } from "./v1-org.ts"
import type { Field, Row, Success, Taking } from "./v1-row.ts"
import { rows } from "./v1-rows.ts"

/** What could not be taken over, or was there already. */
export type Refused = MessageInitShape<typeof ImportDataErrorSchema> & {
  readonly type: string
  readonly orgId: string
  readonly id: string
  readonly message: string
}

/** What an import hears of each thing. */
export type Report = {
  readonly taken: (orgId: string, success: Success) => void
  readonly refused: (refused: Refused) => void
}

/** How many things are written at once: they share what it costs to have them on disk. */
const lanesAtOnce = 8

/**
 * Takes organisations over, kind by kind. Each thing is a step of its own: what can't be taken is
 * reported, and the rest goes on. What is there already stays as it is. `isLate` is asked before
 * each thing; what comes then is reported as not done. `made` is of organisations that the same
 * import has made before, and gets those that it makes now.
 */
export async function takeOver(cx: Cx, orgs: readonly DataOrg[], how: How): Promise<void> {
  const stopped = new Set(orgs.filter(isToStop).map(({ orgId }) => orgId))
  /** What is said of one organisation may stand in several places. */
  const stoppedWith = (org: DataOrg): DataOrg =>
    stopped.has(org.orgId) ? { ...org, orgState: OrgState.INACTIVE } : org
  for (const row of rows) {
    for (const org of orgs) {
      const takings = row.takings(row.field === "org" ? stoppedWith(org) : org)
      if (takings.length > 0) await takeRow({ ...cx, orgId: org.orgId }, row, { ...how, takings })
    }
  }
}

type How = {
  readonly report: Report
  readonly isLate: () => boolean
  readonly made: Set<string>
}

type Within = Cx & { readonly orgId: string }

async function takeRow(
  cx: Within,
  row: Row,
  { takings, ...how }: How & { readonly takings: readonly Taking[] },
): Promise<void> {
  const lanes = Map.groupBy(takings, ({ lane }) => lane)
  const queue = [...lanes.values()].values()
  const run = async () => {
    for (const lane of queue) for (const taking of lane) await takeOne(cx, row, { ...how, taking })
  }
  await Promise.all(Array.from({ length: Math.min(lanesAtOnce, lanes.size) }, run))
}

async function takeOne(
  cx: Within,
  { field, needs, ofNew }: Row,
  { taking, report, isLate, made }: How & { readonly taking: Taking },
): Promise<void> {
  const { orgId } = cx
  try {
    if (isLate()) throw lateError()
    for (const permission of needs.write) mustHold(cx, permission)
    if (field !== "org" && !isOrgThere(cx, orgId)) throw orgMissingError()
    if (ofNew && !made.has(orgId)) throw thereBeforeError()
    await taking.write(cx)
    if (field === "org") made.add(orgId)
    report.taken(orgId, taking.success)
  } catch (cause) {
    // A disk that doesn't take it, or a bug, is not the fault of what was given: all of it stops.
    if (!(cause instanceof Fault) || isOurs(cause)) throw cause
    report.refused({ type: nameOf(field), orgId, id: taking.id, message: messageOf(cause) })
  }
}

/** As the interface names it on the wire. */
export const nameOf = (field: Field): string => DataOrgSchema.field[field].name

/** As many as somebody reads; a file that is none at all has one for each of its lines. */
const refusalsMax = 1000

/** Gathers a report for an answer; of very many refusals the first ones, and how many more. */
export function gathering() {
  const kept: Refused[] = []
  let refusals = 0
  const parts = new Map<string, Uint8Array[]>()
  const report: Report = {
    refused: (refused) => {
      refusals++
      if (kept.length < refusalsMax) kept.push(refused)
    },
    taken: (orgId, success) => {
      const known = parts.get(orgId) ?? []
      if (known.length === 0) parts.set(orgId, known)
      const message = create(ImportDataSuccessOrgSchema, success)
      known.push(toBinary(ImportDataSuccessOrgSchema, message))
    },
  }
  const orgs = () =>
    [...parts].map(([orgId, each]) => ({
      ...fromBinary(ImportDataSuccessOrgSchema, Buffer.concat(each)),
      orgId,
    }))
  const errors = () => {
    const more = refusals - kept.length
    return more === 0 ? kept : [...kept, untoldRefused(more)]
  }
  return { report, errors, orgs, refusals: () => refusals }
}

const untoldRefused = (count: number): Refused => ({
  type: "more",
  orgId: "",
  id: `${count}`,
  message: `${count} more could not be taken over; mend what is named here, and import it again`,
})

const lateError = () =>
  new Fault("deadline_exceeded", "transfer.late", "the time was over before it was taken")

const thereBeforeError = () =>
  new Fault(
    "already_exists",
    "transfer.exists",
    "the organisation was there before, so nobody stops or starts it by an import",
  )

const orgMissingError = () =>
  new Fault("not_found", "org.missing", "there is no such organisation, and it could not be made")
