import { toJson } from "@bufbuild/protobuf"
import { ValueSchema } from "@bufbuild/protobuf/wkt"
import { useState } from "react"
import {
  DiagnosisService,
  type TryScriptResponse,
} from "../../../src/gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { DialogButton, defineForm, durationFromAmount } from "../form/index.ts"
import { call, t } from "../shell/index.ts"
import { UserPicker } from "../user/user-picker.tsx"
import { MomentField, type MomentProps } from "./moment-field.tsx"
import { Outcome } from "./runs.tsx"

const { tryScript } = DiagnosisService.method

type TestRunProps = MomentProps & {
  readonly organizationId: string
  /** The code in the editor, saved or not. */
  readonly script: {
    readonly name: string
    readonly script: string
    readonly timeout: Parameters<typeof durationFromAmount>[0]
  }
  readonly onErrorLine: (line: number) => void
}

/** Runs the script for a user without saving anything, and shows the changes it would make. */
export function TestRun({
  organizationId,
  script: testedScript,
  onErrorLine: onLine,
  ...at
}: TestRunProps) {
  const [answer, setAnswer] = useState<TryScriptResponse | undefined>(undefined)
  const { flowType, triggerType } = at.moment
  return (
    <DialogButton
      family="trial"
      needs={tryScript}
      label={t("script.try")}
      form={defineForm({
        initial: { userId: "" },
        save: async ({ userId }) => {
          const timeout = durationFromAmount(testedScript.timeout)
          const script = {
            name: testedScript.name,
            script: testedScript.script,
            ...(timeout && { timeout }),
          }
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
        // Stays open and shows the result.
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
            {answer && <TestRunResult answer={answer} />}
          </>
        ),
      })}
    />
  )
}

function TestRunResult({
  answer: { effects, errorLine, ...outcome },
}: {
  answer: TryScriptResponse
}) {
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
                  const logValues = values.map((value) =>
                    JSON.stringify(toJson(ValueSchema, value)),
                  )
                  return `${kind}(${logValues.join(", ")})`
                })
                .join("\n")}
            </code>
          </pre>
        </>
      )}
    </div>
  )
}
