import { durationFromMs } from "@bufbuild/protobuf/wkt"
import type { ClientSecret } from "../../../src/gen/core/application/v2/application_pb.ts"
import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { type Column, Table } from "../../kit/index.ts"
import { ConfirmButton, DialogButton, formOf } from "../form/index.ts"
import { actionColumn, OneTimeSecret, Time } from "../list/index.ts"
import { call, Section, t, useReadIfAllowed } from "../shell/index.ts"
import type { ApplicationPart } from "./update-application.ts"

const { listClientSecrets, generateClientSecret, removeClientSecret } = ApplicationService.method

type SecretsProps = ApplicationPart & {
  readonly made: CreatedSecret | undefined
  readonly onMade: (made: CreatedSecret | undefined) => void
}

/** The secrets that are good now; a new one can stand beside the old until all have moved. */
export function Secrets({ application, made, onMade }: SecretsProps) {
  const { applicationId, projectId, name } = application
  const found = useReadIfAllowed(listClientSecrets, { applicationId, projectId })
  if (!found) return null
  const drop = async (secretId: string) => {
    await call(removeClientSecret, { applicationId, projectId, secretId })
    if (made?.id === secretId) onMade(undefined)
  }
  const create = (
    <DialogButton
      needs={generateClientSecret}
      family="secrets"
      label={t("secret.renew")}
      form={createForm({ application, hasSecret: found.secrets.length > 0, onMade })}
    />
  )
  return (
    <Section title={t("secret.list")} actions={create}>
      {made && (
        <OneTimeSecret
          title={t("secret.client")}
          secret={made.secret}
          file={`${name}-secret.txt`}
        />
      )}
      <List secrets={found.secrets} drop={drop} />
    </Section>
  )
}

/** A secret that is shown, this once. */
export type CreatedSecret = { readonly id: string; readonly secret: string }

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

type CreateProps = ApplicationPart & {
  readonly hasSecret: boolean
  readonly onMade: (made: CreatedSecret) => void
}

const createForm = ({ application, hasSecret, onMade }: CreateProps) =>
  formOf<{ readonly period: Period }, void>({
    initial: { period: "day" },
    save: async ({ period }) => {
      const { applicationId, projectId } = application
      const wanted = { applicationId, projectId, previous: previousOf(period) }
      const { secretId, clientSecret } = await call(generateClientSecret, wanted)
      onMade({ id: secretId, secret: clientSecret })
    },
    fields: ({ select, values: { period } }) =>
      hasSecret ? (
        select("period", t("secret.previous"), {
          hint: t(period === "none" ? "secret.previous_none_hint" : "secret.previous_hint"),
          of: periodNames,
          words: (one) => t(`secret.previous.${one}`),
        })
      ) : (
        <p>{t("secret.first")}</p>
      ),
  })

type ListProps = {
  readonly secrets: readonly ClientSecret[]
  readonly drop: (secretId: string) => Promise<void>
}

function List({ secrets, drop }: ListProps) {
  if (secrets.length === 0) return <p className="quiet section-lead">{t("secret.empty")}</p>
  const columns: readonly Column<ClientSecret>[] = [
    { label: t("secret.id"), cell: ({ secretId }) => <code>{secretId}</code> },
    { label: t("field.created"), cell: ({ creationDate }) => <Time at={creationDate} /> },
    {
      label: t("field.expires"),
      cell: ({ expirationDate }) =>
        expirationDate ? <Time at={expirationDate} /> : t("detail.never"),
    },
    actionColumn(({ secretId }) => (
      <ConfirmButton
        small
        needs={removeClientSecret}
        what={secretId}
        consequence={t("secret.remove_text")}
        act={() => drop(secretId)}
      />
    )),
  ]
  const keyOf = ({ secretId }: ClientSecret) => secretId
  return <Table caption={t("secret.list")} columns={columns} rows={secrets} keyOf={keyOf} />
}
