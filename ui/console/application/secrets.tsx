import { durationFromMs } from "@bufbuild/protobuf/wkt"
import { useState } from "react"
import type { ClientSecret } from "../../../src/gen/core/application/v2/application_pb.ts"
import { Alert } from "../../kit/alert.tsx"
import { Button } from "../../kit/button.tsx"
import { Dialog } from "../../kit/dialog.tsx"
import { SelectField } from "../../kit/select.tsx"
import { type Column, Table } from "../../kit/table.tsx"
import { ConfirmButton } from "../confirm.tsx"
import { Section } from "../detail.tsx"
import { ActionForm } from "../form.tsx"
import { useHouse } from "../house.ts"
import { useAction, useJoined, useLoad } from "../load.ts"
import { OnceBox } from "../once-box.tsx"
import { Time } from "../time.tsx"
import type { ApplicationPart, Observed } from "./change.ts"

/** The secrets that are good now; a new one can stand beside the old until all have moved. */
export function Secrets({ application, readings }: Observed) {
  const { t, core } = useHouse()
  const { applicationId, projectId, name } = application
  const [made, setMade] = useState<Made | undefined>(undefined)
  const [asking, setAsking] = useState(false)
  const found = useLoad(`secrets ${applicationId}`, "", async (signal) => {
    const { secrets } = await core.applications.listClientSecrets(
      { applicationId, projectId },
      { signal },
    )
    return secrets
  })
  useJoined(readings, found.reload)
  if (found.status === "failed" && found.denied) return null
  const take = async (fresh: Made) => {
    setMade(fresh)
    await readings.reload()
    setAsking(false)
  }
  const drop = async (secretId: string) => {
    await core.applications.removeClientSecret({ applicationId, projectId, secretId })
    if (made?.id === secretId) setMade(undefined)
    await readings.reload()
  }
  const create = <Button onClick={() => setAsking(true)}>{t("secret.renew")}</Button>
  return (
    <Section title={t("secret.list")} actions={create}>
      {asking && found.status === "ready" && (
        <Create
          application={application}
          hasSecret={found.value.length > 0}
          onMade={take}
          onClose={() => setAsking(false)}
        />
      )}
      {made && (
        <OnceBox title={t("secret.client")} secret={made.secret} file={`${name}-secret.txt`} />
      )}
      {found.status === "failed" && <Alert tone="danger">{found.message}</Alert>}
      {found.status === "ready" && <List secrets={found.value} drop={drop} />}
    </Section>
  )
}

type Made = { readonly id: string; readonly secret: string }

const hour = 3_600_000

/** How long the secrets before the new one stay good. */
const periods = { none: 0, hour, day: 24 * hour, week: 7 * 24 * hour, open: undefined } as const
type Period = keyof typeof periods
const periodNames: readonly Period[] = ["hour", "day", "week", "open", "none"]

function previousOf(period: Period) {
  const ms = periods[period]
  return ms === undefined
    ? ({ case: "keepPrevious", value: true } as const)
    : ({ case: "keepPreviousFor", value: durationFromMs(ms) } as const)
}

type CreateProps = Pick<ApplicationPart, "application"> & {
  readonly hasSecret: boolean
  readonly onMade: (made: Made) => Promise<void>
  readonly onClose: () => void
}

function Create({ application, hasSecret, onMade, onClose }: CreateProps) {
  const { t, core } = useHouse()
  const { applicationId, projectId } = application
  const [period, setPeriod] = useState<Period>("day")
  const action = useAction(async () => {
    const wanted = { applicationId, projectId, previous: previousOf(period) }
    const { secretId, clientSecret } = await core.applications.generateClientSecret(wanted)
    await onMade({ id: secretId, secret: clientSecret })
  })
  const title = t("secret.renew")
  return (
    <Dialog title={title} onClose={onClose}>
      <ActionForm action={action} submit={title} onCancel={onClose}>
        {hasSecret ? (
          <SelectField
            label={t("secret.previous")}
            hint={t(period === "none" ? "secret.previous_none_hint" : "secret.previous_hint")}
            options={periodNames.map((value) => ({ value, label: t(`secret.previous.${value}`) }))}
            value={period}
            onChange={setPeriod}
          />
        ) : (
          <p>{t("secret.first")}</p>
        )}
      </ActionForm>
    </Dialog>
  )
}

type ListProps = {
  readonly secrets: readonly ClientSecret[]
  readonly drop: (secretId: string) => Promise<void>
}

function List({ secrets, drop }: ListProps) {
  const { t } = useHouse()
  if (secrets.length === 0) return <p className="quiet section-lead">{t("secret.empty")}</p>
  const columns: readonly Column<ClientSecret>[] = [
    { label: t("secret.id"), cell: ({ secretId }) => <code>{secretId}</code> },
    { label: t("field.created"), cell: ({ creationDate }) => <Time at={creationDate} /> },
    {
      label: t("field.expires"),
      cell: ({ expirationDate }) =>
        expirationDate ? <Time at={expirationDate} /> : t("detail.never"),
    },
    {
      label: "",
      cell: ({ secretId }) => (
        <div className="row-actions">
          <ConfirmButton
            label={t("action.remove")}
            what={secretId}
            consequence={t("secret.remove_text")}
            act={() => drop(secretId)}
          />
        </div>
      ),
    },
  ]
  const keyOf = ({ secretId }: ClientSecret) => secretId
  return <Table caption={t("secret.list")} columns={columns} rows={secrets} keyOf={keyOf} />
}
