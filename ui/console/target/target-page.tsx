import { durationFromMs } from "@bufbuild/protobuf/wkt"
import { useParams } from "@tanstack/react-router"
import { useState } from "react"
import { ActionService } from "../../../src/gen/core/action/v2/action_service_pb.ts"
import type { Target } from "../../../src/gen/core/action/v2/target_pb.ts"
import { Badge } from "../../kit/index.ts"
import { DeleteSection, DialogButton, durationText, EditSection, formOf } from "../form/index.ts"
import { dateFacts, History, OneTimeSecret } from "../list/index.ts"
import { call, copied, Facts, Page, Part, t, useRead } from "../shell/index.ts"
import { Calls, Resting } from "./calls.tsx"
import { PublicKeys } from "./public-keys.tsx"
import { interruptsOf, kindOf, payloadOf, targetForm } from "./target.ts"

const { getTarget, updateTarget, deleteTarget } = ActionService.method

/** One target: what it is, what signs and encrypts what is sent there, and its latest calls. */
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
      badge={<Badge>{t(`targets.kind.${kindOf(target)}`)}</Badge>}
      actions={
        <DialogButton
          family="signing-key"
          needs={updateTarget}
          label={t("targets.rotate")}
          form={rotationForm(targetId, setSigningKey)}
        />
      }
    >
      <Part rows={1}>
        <Resting targetId={targetId} />
      </Part>
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
        facts={<About target={target} />}
        form={targetForm(target)}
      />
      {payloadOf(target) === "jwe" && <PublicKeys targetId={targetId} />}
      <Calls targetId={targetId} />
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

function About({ target }: { readonly target: Target }) {
  const { id, endpoint, timeout } = target
  return (
    <Facts
      rows={[
        copied(t("targets.endpoint"), endpoint),
        [t("targets.interrupts"), interruptsOf(target) && t("detail.on")],
        [t("targets.timeout"), timeout && durationText(timeout)],
        [t("targets.payload"), t(`targets.payload.${payloadOf(target)}`)],
        copied(t("targets.id"), id),
        ...dateFacts(target),
      ]}
    />
  )
}

const hour = 3_600_000
const overlaps = { none: 0, hour, day: 24 * hour, week: 7 * 24 * hour } as const
const overlapNames = ["hour", "day", "week", "none"] as const

/** A new signing key, beside which the one before signs for a while. */
const rotationForm = (id: string, onMade: (signingKey: string) => void) =>
  formOf<{ overlap: keyof typeof overlaps }, void>({
    initial: { overlap: "day" },
    save: async ({ overlap }) => {
      const expirationSigningKey = durationFromMs(overlaps[overlap])
      onMade((await call(updateTarget, { id, expirationSigningKey })).signingKey ?? "")
    },
    fields: ({ select }) =>
      select("overlap", t("targets.overlap"), {
        of: overlapNames,
        words: (one) => t(`targets.overlap.${one}`),
        hint: t("targets.overlap_hint"),
      }),
  })
