import { fromJson } from "@bufbuild/protobuf"
import { useState } from "react"
import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import {
  ImportDataRequestSchema,
  type ImportDataSuccess,
} from "../../../src/gen/core/admin/v1/data_pb.ts"
import type { Piece } from "../../../src/protocol/transfer/order.ts"
import { Alert, Table } from "../../kit/index.ts"
import { FileButton } from "../form/index.ts"
import { call, RefusalAlert, Section, t, useAction } from "../shell/index.ts"
import { partsOf, piecesIn } from "./file.ts"
import { Progress, type TransferProgress } from "./progress.tsx"

type Rejection = { readonly type: string; readonly id: string; readonly message: string }
type ImportResult = {
  readonly isTrial: boolean
  /** Whether a part was refused, or not answered: it and those behind it are not among these. */
  readonly isCut: boolean
  readonly count: number
  readonly notTaken: readonly Rejection[]
}

/** Of very many that were not taken over so many are shown. */
const shownMax = 200

const accept = ".json,.jsonl,.ndjson,application/json"

/** A file, tried first or taken over. */
export function ImportSection() {
  const [standing, setStanding] = useState<TransferProgress>()
  const [taken, setTaken] = useState<ImportResult>()
  const action = useAction(async (file: File, isTrial: boolean) => {
    setTaken(undefined)
    setStanding(undefined)
    await imported(await file.text(), isTrial, { tell: setStanding, heard: setTaken })
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
          {action.busy && <Progress label={t("transfer.import.title")} standing={standing} />}
        </div>
        <RefusalAlert refusal={action.refusal} />
        {taken && <Outcome {...taken} />}
      </div>
    </Section>
  )
}

function Outcome({ isTrial, isCut, count, notTaken }: ImportResult) {
  const words = isTrial ? "would" : isCut ? "cut" : "done"
  const title = t("transfer.not_taken", { count: notTaken.length })
  return (
    <>
      <Alert tone={count > 0 && !isCut ? "done" : "warning"}>
        {t(`transfer.import.${words}`, { count })}
      </Alert>
      {notTaken.length > 0 && (
        <Alert tone="warning" title={title}>
          <Table
            caption={title}
            columns={[
              { label: t("transfer.what"), cell: ({ type }) => <code>{type}</code> },
              { label: t("transfer.id"), cell: ({ id }) => <code className="clip">{id}</code> },
              { label: t("transfer.why"), cell: ({ message }) => <span lang="en">{message}</span> },
            ]}
            rows={notTaken.slice(0, shownMax).map((each, at) => ({ ...each, at }))}
            keyOf={({ at }) => String(at)}
          />
        </Alert>
      )}
    </>
  )
}

type Hearing = {
  readonly tell: (standing: TransferProgress) => void
  readonly heard: (taken: ImportResult) => void
}

/**
 * Part by part, as each is answered; a file of several parts can't be tried, only taken. What was
 * taken until one is not answered is heard, too.
 */
async function imported(text: string, isTrial: boolean, { tell, heard }: Hearing): Promise<void> {
  const { pieces, unread } = piecesIn(text)
  const parts = partsOf(pieces)
  const notTaken: Rejection[] = unread.map((line) => ({
    type: "line",
    id: String(line),
    message: t("transfer.unread"),
  }))
  if (isTrial && parts.length > 1) throw new Error(t("transfer.too_large_to_try"))
  // What is not of the form ends it before anything was sent.
  const requests = parts.map((part) => requestOf(part, isTrial))
  let [done, count] = [0, 0]
  try {
    for (const request of requests) {
      tell({ done, total: requests.length })
      const answer = await call(AdminService.method.importData, request)
      if (answer.success) count += countOf(answer.success)
      notTaken.push(...answer.errors)
      done++
    }
  } finally {
    const isCut = done < requests.length
    if (!isCut || done > 0) heard({ isTrial, isCut, count, notTaken })
  }
}

const requestOf = (orgs: readonly Piece[], dryRun: boolean) =>
  fromJson(ImportDataRequestSchema, JSON.parse(JSON.stringify({ dataOrgs: { orgs }, dryRun })))

/** Each thing stands in a list of its kind. */
const countOf = ({ orgs }: ImportDataSuccess): number =>
  orgs
    .flatMap((org) => Object.values(org))
    .reduce((sum, each) => sum + (Array.isArray(each) ? each.length : 0), 0)
