import { durationFromMs } from "@bufbuild/protobuf/wkt"
import { useParams } from "@tanstack/react-router"
import { useState } from "react"
import { ActionService } from "../../../src/gen/core/action/v2/action_service_pb.ts"
import type { Target } from "../../../src/gen/core/action/v2/target_pb.ts"
import { Badge } from "../../kit/index.ts"
import {
  DeleteSection,
  DialogButton,
  defineForm,
  EditSection,
  formatDuration,
} from "../form/index.ts"
import { dateRows, History, OneTimeSecret } from "../list/index.ts"
import { call, copyableFact, Facts, Page, PagePart, t, useRead } from "../shell/index.ts"
import { PausedTargets, TargetCalls } from "./calls.tsx"
import { PublicKeys } from "./public-keys.tsx"
import { interruptsOnError, payloadOf, targetForm, targetKindOf } from "./target.ts"

const { getTarget, updateTarget, deleteTarget } = ActionService.method

/** A target: its settings, keys and latest calls. */
export function TargetPage() {
  const { targetId } = useParams({ from: "/targets/$targetId" })
  const { target } = useRead(getTarget, { id: targetId })
  const [signingKey, setSigningKey] = useState("")
  if (!target) return null
  const { name } = target
  return (
    <Page
      title={name}
      crumbs={[{ label: t("nav.targets"), link: { to: "/targets" } }]}
      badge={<Badge>{t(`targets.kind.${targetKindOf(target)}`)}</Badge>}
      actions={
        <DialogButton
          family="signing-key"
          needs={updateTarget}
          label={t("targets.rotate")}
          form={rotationForm(targetId, setSigningKey)}
        />
      }
    >
      <PagePart rows={1}>
        <PausedTargets targetId={targetId} />
      </PagePart>
      {signingKey && (
        <OneTimeSecret
          title={t("targets.signing_key")}
          secret={signingKey}
          file={`${name}-signing-key.txt`}
        />
      )}
      <EditSection
        needs={updateTarget}
        title={t("detail.about")}
        facts={<TargetDetails target={target} />}
        form={targetForm(target)}
      />
      {payloadOf(target) === "jwe" && <PublicKeys targetId={targetId} />}
      <TargetCalls targetId={targetId} />
      <History of={{ case: "stream", value: { instance: true, kind: "target", id: targetId } }} />
      <DeleteSection
        family="targets"
        name={name}
        by={deleteTarget}
        of={{ id: targetId }}
        to={{ to: "/targets" }}
      />
    </Page>
  )
}

function TargetDetails({ target }: { readonly target: Target }) {
  const { id, endpoint, timeout } = target
  return (
    <Facts
      rows={[
        copyableFact(t("targets.endpoint"), endpoint),
        [t("targets.interrupts"), interruptsOnError(target) && t("detail.on")],
        [t("targets.timeout"), timeout && formatDuration(timeout)],
        [t("targets.payload"), t(`targets.payload.${payloadOf(target)}`)],
        copyableFact(t("targets.id"), id),
        ...dateRows(target),
      ]}
    />
  )
}

const hourMs = 3_600_000
const overlapPeriods = { none: 0, hour: hourMs, day: 24 * hourMs, week: 7 * 24 * hourMs } as const
const overlapNames = ["hour", "day", "week", "none"] as const

/** Creates a new signing key; the previous one also signs during the overlap. */
const rotationForm = (id: string, onCreated: (signingKey: string) => void) =>
  defineForm<{ overlap: keyof typeof overlapPeriods }, void>({
    initial: { overlap: "day" },
    save: async ({ overlap }) => {
      const expirationSigningKey = durationFromMs(overlapPeriods[overlap])
      onCreated((await call(updateTarget, { id, expirationSigningKey })).signingKey ?? "")
    },
    fields: ({ select }) =>
      select("overlap", t("targets.overlap"), {
        of: overlapNames,
        label: (one) => t(`targets.overlap.${one}`),
        hint: t("targets.overlap_hint"),
      }),
  })
