import { toJson } from "@bufbuild/protobuf"
import { ValueSchema } from "@bufbuild/protobuf/wkt"
import { useState } from "react"
import {
  DiagnosisService,
  type TryScriptResponse,
} from "../../../src/gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { DialogButton, durationOf, formOf } from "../form/index.ts"
import { call, t } from "../shell/index.ts"
import { UserPicker } from "../user/user-picker.tsx"
import { MomentField, type MomentProps } from "./moment-field.tsx"
import { Outcome } from "./runs.tsx"

const { tryScript } = DiagnosisService.method

type TrialProps = MomentProps & {
  readonly organizationId: string
  /** As it stands in the editor, saved or not. */
  readonly tried: {
    readonly name: string
    readonly script: string
    readonly timeout: Parameters<typeof durationOf>[0]
  }
  readonly onLine: (line: number) => void
}

/** Runs the script for a real person, and shows what it would have done. */
export function Trial({ organizationId, tried, onLine, ...at }: TrialProps) {
  const [answer, setAnswer] = useState<TryScriptResponse | undefined>(undefined)
  const { flowType, triggerType } = at.moment
  return (
    <DialogButton
      family="trial"
      needs={tryScript}
      label={t("script.try")}
      form={formOf({
        initial: { userId: "" },
        save: async ({ userId }) => {
          const timeout = durationOf(tried.timeout)
          const script = { name: tried.name, script: tried.script, ...(timeout && { timeout }) }
          const found = await call(tryScript, {
            ...script,
            organizationId,
            flowType,
            triggerType,
            userId,
          })
          setAnswer(found)
          onLine(found.errorLine)
        },
        // It stays open, and says what came of it.
        done: () => {},
        submit: t("script.run"),
        disabled: ({ userId }) => userId === "",
        fields: ({ values: { userId }, change }) => (
          <>
            <p className="quiet">{t("script.try_lead")}</p>
            <MomentField {...at} />
            <UserPicker
              organizationId={organizationId}
              value={userId}
              onChange={(chosen) => change({ userId: chosen })}
            />
            {answer && <Answer answer={answer} />}
          </>
        ),
      })}
    />
  )
}

function Answer({ answer: { effects, errorLine, ...outcome } }: { answer: TryScriptResponse }) {
  return (
    <div className="stack stack-tight" role="status">
      <Outcome {...outcome} />
      {errorLine > 0 && <p>{t("script.line", { line: errorLine })}</p>}
      {!outcome.error && effects.length === 0 && <p>{t("script.nothing")}</p>}
      {effects.length > 0 && (
        <>
          <p>{t("script.would")}</p>
          <pre className="snippet">
            <code>
              {effects
                .map(({ kind, values }) => {
                  const given = values.map((value) => JSON.stringify(toJson(ValueSchema, value)))
                  return `${kind}(${given.join(", ")})`
                })
                .join("\n")}
            </code>
          </pre>
        </>
      )}
    </div>
  )
}
