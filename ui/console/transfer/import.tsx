import { fromJson } from "@bufbuild/protobuf"
import { useState } from "react"
import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import {
  ImportDataRequestSchema,
  type ImportDataSuccess,
} from "../../../src/gen/core/admin/v1/data_pb.ts"
import type { OrganizationPiece } from "../../../src/protocol/transfer/order.ts"
import { Alert, Table } from "../../kit/index.ts"
import { FileButton } from "../form/index.ts"
import { call, RefusalAlert, Section, t, useAction } from "../shell/index.ts"
import { parseFile, splitIntoRequests } from "./file.ts"
import { Progress, type TransferProgress } from "./progress.tsx"

type Rejection = { readonly type: string; readonly id: string; readonly message: string }
type ImportResult = {
  readonly isTrial: boolean
  /** Whether a request failed, so that it and the following ones are missing here. */
  readonly isIncomplete: boolean
  readonly count: number
  readonly rejections: readonly Rejection[]
}

/** Limit of displayed errors. */
const shownErrorsMax = 200

const accept = ".json,.jsonl,.ndjson,application/json"

/** Imports a file, with an optional dry run. */
export function ImportSection() {
  const [progress, setStanding] = useState<TransferProgress>()
  const [result, setTaken] = useState<ImportResult>()
  const action = useAction(async (file: File, isTrial: boolean) => {
    setTaken(undefined)
    setStanding(undefined)
    await importFile(await file.text(), isTrial, { onProgress: setStanding, onResult: setTaken })
  })
  const choose = (isTrial: boolean, label: string) => (
    <FileButton
      label={label}
      accept={accept}
      busy={action.busy}
      onFile={(file) => action.run(file, isTrial)}
    />
  )
  return (
    <Section title={t("transfer.import.title")}>
      <div className="stack">
        <p className="quiet">{t("transfer.import.text")}</p>
        <div className="row">
          {choose(true, t("transfer.import.try"))}
          {choose(false, t("transfer.import.start"))}
          {action.busy && <Progress label={t("transfer.import.title")} current={progress} />}
        </div>
        <RefusalAlert refusal={action.refusal} />
        {result && <ImportOutcome {...result} />}
      </div>
    </Section>
  )
}

function ImportOutcome({ isTrial, isIncomplete: isCut, count, rejections }: ImportResult) {
  const outcome = isTrial ? "would" : isCut ? "cut" : "done"
  const title = t("transfer.not_taken", { count: rejections.length })
  return (
    <>
      <Alert tone={count > 0 && !isCut ? "done" : "warning"}>
        {t(`transfer.import.${outcome}`, { count })}
      </Alert>
      {rejections.length > 0 && (
        <Alert tone="warning" title={title}>
          <Table
            caption={title}
            columns={[
              { label: t("transfer.what"), cell: ({ type }) => <code>{type}</code> },
              { label: t("transfer.id"), cell: ({ id }) => <code className="clip">{id}</code> },
              { label: t("transfer.why"), cell: ({ message }) => <span lang="en">{message}</span> },
            ]}
            rows={rejections.slice(0, shownErrorsMax).map((each, at) => ({ ...each, at }))}
            keyOf={({ at }) => String(at)}
          />
        </Alert>
      )}
    </>
  )
}

type ImportCallbacks = {
  readonly onProgress: (progress: TransferProgress) => void
  readonly onResult: (result: ImportResult) => void
}

/**
 * Sends requests one after another. A file of several requests can't have a dry run. Results up to
 * a failed request are reported too.
 */
async function importFile(
  text: string,
  isTrial: boolean,
  { onProgress, onResult }: ImportCallbacks,
): Promise<void> {
  const { pieces, invalidLines: unread } = parseFile(text)
  const parts = splitIntoRequests(pieces)
  const rejections: Rejection[] = unread.map((line) => ({
    type: "line",
    id: String(line),
    message: t("transfer.unread"),
  }))
  if (isTrial && parts.length > 1) throw new Error(t("transfer.too_large_to_try"))
  // An invalid file is rejected before anything is sent.
  const requests = parts.map((part) => toRequest(part, isTrial))
  let [done, count] = [0, 0]
  try {
    for (const request of requests) {
      onProgress({ done, total: requests.length })
      const answer = await call(AdminService.method.importData, request)
      if (answer.success) count += countItems(answer.success)
      rejections.push(...answer.errors)
      done++
    }
  } finally {
    const isCut = done < requests.length
    if (!isCut || done > 0) onResult({ isTrial, isIncomplete: isCut, count, rejections })
  }
}

const toRequest = (orgs: readonly OrganizationPiece[], dryRun: boolean) =>
  fromJson(ImportDataRequestSchema, JSON.parse(JSON.stringify({ dataOrgs: { orgs }, dryRun })))

/** Each list contains items of one kind. */
const countItems = ({ orgs }: ImportDataSuccess): number =>
  orgs
    .flatMap((org) => Object.values(org))
    .reduce((sum, each) => sum + (Array.isArray(each) ? each.length : 0), 0)
