import { share } from "../../../api/method.ts"
import { AdminService } from "../../../gen/core/admin/v1/admin_service_pb.ts"
import type {
  DataOrg,
  ExportDataRequest,
  ImportDataRequest,
} from "../../../gen/core/admin/v1/data_pb.ts"
import { Fault, fieldError, lateError } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { noteImport } from "../model.ts"
import { wholeOf } from "./v1-export.ts"
import { gathering, takeOver } from "./v1-import.ts"
import { presentOf } from "./v1-older.ts"

export const admin = share<Cx>()(AdminService, {
  exportData: async (req, cx) => {
    mustBeInline(req)
    const isLate = timerOf(cx, req.timeout)
    const { orgIds, excludedOrgIds, withPasswords, withOtp, withSecrets } = req
    const carried = { withPasswords, withOtp, withSecrets }
    const orgs = await wholeOf(cx, { orgIds, excludedOrgIds, carried }, () => {
      if (isLate()) throw lateError()
    })
    return { orgs: [...orgs] }
  },
  importData: async (req, cx) => {
    const [orgs, isLate] = [orgsIn(req), timerOf(cx, req.timeout)]
    const { report, errors, orgs: taken } = gathering()
    const here = req.dryRun ? { ...cx, store: cx.store.rehearse() } : cx
    await takeOver(here, orgs, { report, isLate, made: new Set() })
    const success = { orgs: taken() }
    if (!req.dryRun)
      await noteImport(cx, orgs.length, { taken: success.orgs.length, refused: errors.length })
    return { errors, success }
  },
})

function orgsIn({ data }: ImportDataRequest): readonly DataOrg[] {
  switch (data.case) {
    case "dataOrgs":
      return data.value.orgs
    case "dataOrgsv1":
      return data.value.orgs.map(presentOf)
    case undefined:
      throw fieldError("transfer.data_missing", "data_orgs", "must be there")
    case "dataOrgsGcs":
    case "dataOrgsv1Gcs":
      throw bucketError()
    default:
      throw elsewhereError("data_orgs", "latchkey import FILE")
  }
}

/** What would go elsewhere than into the answer is refused. */
function mustBeInline({ localOutput, s3Output, gcsOutput }: ExportDataRequest): void {
  if (gcsOutput) throw bucketError()
  if (localOutput || s3Output) throw elsewhereError("response_output", "latchkey export FILE")
}

const elsewhereError = (field: string, command: string) =>
  new Fault(
    "failed_precondition",
    "transfer.no_place",
    `this server reads and writes no files for callers; use ${field}, or run ${command} on it`,
  )

const bucketError = () =>
  new Fault(
    "failed_precondition",
    "transfer.no_bucket",
    "this server doesn't speak to Google Cloud Storage; run latchkey export FILE or latchkey " +
      "import FILE on it, and copy the file with the tools of that service",
  )

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
