import { share } from "../../../api/method.ts"
import { AdminService } from "../../../gen/core/admin/v1/admin_service_pb.ts"
import type { DataOrg, ImportDataRequest } from "../../../gen/core/admin/v1/data_pb.ts"
import { fieldError, lateError } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { noteImport } from "../model.ts"
import { mustHold, wholeOf } from "./v1-export.ts"
import { gathering, type Report, takeOver } from "./v1-import.ts"
import { presentOf } from "./v1-line.ts"
import { sourceOf, takeFrom, targetOf, writeTo } from "./v1-place.ts"

export const admin = share<Cx>()(AdminService, {
  exportData: async (req, cx) => {
    const [isLate, place] = [timerOf(cx, req.timeout), targetOf(cx, req)]
    const { orgIds, excludedOrgIds, withPasswords, withOtp, withSecrets } = req
    const wanted = {
      orgIds,
      excludedOrgIds,
      carried: { withPasswords, withOtp, withSecrets },
    }
    const pass = () => {
      if (isLate()) throw lateError()
    }
    // Who only reads fills no disk, and sends nothing anywhere.
    if (place) mustHold(cx, "iam.write")
    if (place) await writeTo(cx, place, wanted, pass)
    const isTold = !place || req.responseOutput
    return { orgs: isTold ? [...(await wholeOf(cx, wanted, pass))] : [] }
  },
  importData: async (req, cx) => {
    const [source, isLate] = [sourceOf(cx, req), timerOf(cx, req.timeout)]
    const { report, errors, orgs: taken, refusals } = gathering()
    const here = req.dryRun ? { ...cx, store: cx.store.rehearse() } : cx
    const orgs = source
      ? (await takeFrom(here, source.place, { ...source, report, isLate })).orgs
      : await takeInline(here, req, { report, isLate })
    const success = { orgs: taken() }
    if (!req.dryRun) await noteImport(cx, orgs, { taken: success.orgs.length, refused: refusals() })
    return { errors: [...errors()], success }
  },
})

async function takeInline(
  cx: Cx,
  { data }: ImportDataRequest,
  how: { readonly report: Report; readonly isLate: () => boolean },
): Promise<number> {
  const orgs = orgsOf(data)
  await takeOver(cx, orgs, { ...how, made: new Set() })
  return orgs.length
}

function orgsOf(data: ImportDataRequest["data"]): readonly DataOrg[] {
  if (data.case === "dataOrgs") return data.value.orgs
  if (data.case === "dataOrgsv1") return data.value.orgs.map(presentOf)
  throw fieldError("transfer.data_missing", "data_orgs", "must be there")
}

const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const
const duration = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/

/** Whether the time that a request gives is over; never where it gives none. */
function timerOf({ clock }: Cx, timeout: string): () => boolean {
  if (timeout === "") return () => false
  if (!duration.test(timeout)) {
    throw fieldError("transfer.timeout", "timeout", `must be a time such as "30s" or "5m"`)
  }
  const parts = [...timeout.matchAll(/([\d.]+)(ms|s|m|h)/g)]
  const ms = parts.reduce((sum, [, count, unit]) => sum + Number(count) * unitOf(unit), 0)
  const until = clock.now() + ms
  return () => clock.now() >= until
}

const unitOf = (unit = "s"): number =>
  Object.entries(units).find(([name]) => name === unit)?.[1] ?? 0
