import { durationFromMs } from "@bufbuild/protobuf/wkt"
import type { ClientSecret } from "../../../src/gen/core/application/v2/application_pb.ts"
import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { type Column, Table } from "../../kit/index.ts"
import { ConfirmButton, DialogButton, defineForm } from "../form/index.ts"
import { actionColumn, OneTimeSecret, Time } from "../list/index.ts"
import { call, Section, t, useReadIfAllowed } from "../shell/index.ts"
import type { ApplicationPart } from "./update-application.ts"

const { listClientSecrets, generateClientSecret, removeClientSecret } = ApplicationService.method

type SecretsProps = ApplicationPart & {
  readonly created: CreatedSecret | undefined
  readonly onCreated: (created: CreatedSecret | undefined) => void
}

/** The valid secrets; a new one can overlap with the old one during rotation. */
export function Secrets({ application, created, onCreated }: SecretsProps) {
  const { applicationId, projectId, name } = application
  const found = useReadIfAllowed(listClientSecrets, { applicationId, projectId })
  if (!found) return null
  const removeSecret = async (secretId: string) => {
    await call(removeClientSecret, { applicationId, projectId, secretId })
    if (created?.id === secretId) onCreated(undefined)
  }
  const create = (
    <DialogButton
      needs={generateClientSecret}
      family="secrets"
      label={t("secret.renew")}
      form={createForm({ application, hasSecret: found.secrets.length > 0, onCreated })}
    />
  )
  return (
    <Section title={t("secret.list")} actions={create}>
      {created && (
        <OneTimeSecret
          title={t("secret.client")}
          secret={created.secret}
          file={`${name}-secret.txt`}
        />
      )}
      <SecretList secrets={found.secrets} drop={removeSecret} />
    </Section>
  )
}

/** A new secret, shown only once. */
export type CreatedSecret = { readonly id: string; readonly secret: string }

const hourMs = 3_600_000

/** How long the previous secrets stay valid. */
const overlapPeriods = {
  none: 0,
  hour: hourMs,
  day: 24 * hourMs,
  week: 7 * 24 * hourMs,
  open: undefined,
} as const
type OverlapPeriod = keyof typeof overlapPeriods
const periodNames: readonly OverlapPeriod[] = ["hour", "day", "week", "open", "none"]

function previousSecretsExpiry(period: OverlapPeriod) {
  const ms = overlapPeriods[period]
  return ms === undefined
    ? ({ case: "keepPrevious", value: true } as const)
    : ({ case: "keepPreviousFor", value: durationFromMs(ms) } as const)
}

type CreateSecretProps = ApplicationPart & {
  readonly hasSecret: boolean
  readonly onCreated: (created: CreatedSecret) => void
}

const createForm = ({ application, hasSecret, onCreated }: CreateSecretProps) =>
  defineForm<{ readonly period: OverlapPeriod }, void>({
    initial: { period: "day" },
    save: async ({ period }) => {
      const { applicationId, projectId } = application
      const request = { applicationId, projectId, previous: previousSecretsExpiry(period) }
      const { secretId, clientSecret } = await call(generateClientSecret, request)
      onCreated({ id: secretId, secret: clientSecret })
    },
    fields: ({ select, values: { period } }) =>
      hasSecret ? (
        select("period", t("secret.previous"), {
          hint: t(period === "none" ? "secret.previous_none_hint" : "secret.previous_hint"),
          of: periodNames,
          label: (one) => t(`secret.previous.${one}`),
        })
      ) : (
        <p>{t("secret.first")}</p>
      ),
  })

type ListProps = {
  readonly secrets: readonly ClientSecret[]
  readonly drop: (secretId: string) => Promise<void>
}

function SecretList({ secrets, drop: removeSecret }: ListProps) {
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
        subject={secretId}
        consequence={t("secret.remove_text")}
        act={() => removeSecret(secretId)}
      />
    )),
  ]
  const keyOf = ({ secretId }: ClientSecret) => secretId
  return <Table caption={t("secret.list")} columns={columns} rows={secrets} keyOf={keyOf} />
}
