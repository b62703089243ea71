import { durationFromMs } from "@bufbuild/protobuf/wkt"
import { ActionService } from "../../../src/gen/core/action/v2/action_service_pb.ts"
import { PayloadType, type Target } from "../../../src/gen/core/action/v2/target_pb.ts"
import { amountOf, durationOf, formOf, type RenderForm, verbatim } from "../form/index.ts"
import { call, t } from "../shell/index.ts"

/** webhook: it is told; call: its answer counts; async: nobody waits for it. */
export const kinds = ["webhook", "call", "async"] as const
export type Kind = (typeof kinds)[number]

const cases = { webhook: "restWebhook", call: "restCall", async: "restAsync" } as const

const payloads = {
  json: PayloadType.JSON,
  jwt: PayloadType.JWT,
  jwe: PayloadType.JWE,
} as const
const payloadNames = ["json", "jwt", "jwe"] as const
type Payload = (typeof payloadNames)[number]

export const kindOf = ({ targetType }: Target): Kind =>
  kinds.find((kind) => cases[kind] === targetType.case) ?? "webhook"

export const payloadOf = ({ payloadType }: Target): Payload =>
  payloadNames.find((name) => payloads[name] === payloadType) ?? "json"

export const interruptsOf = ({ targetType: { case: kind, value } }: Target): boolean =>
  (kind === "restWebhook" || kind === "restCall") && value.interruptOnError

/** What a target is told by once: it signs all that is sent there. */
export type CreatedTarget = { readonly name: string; readonly signingKey: string }

const { createTarget, updateTarget } = ActionService.method

/** What is called and how; a new one is made, and its signing key handed on. */
export const targetForm = (
  target: Target | undefined,
  onMade?: (made: CreatedTarget) => void,
): RenderForm =>
  formOf({
    initial: {
      name: target?.name ?? "",
      endpoint: target?.endpoint ?? "",
      kind: target ? kindOf(target) : "webhook",
      timeout: amountOf(target?.timeout ?? durationFromMs(10_000), "seconds"),
      interrupts: target ? interruptsOf(target) : false,
      payload: target ? payloadOf(target) : "json",
    },
    authored: true,
    save: async ({ kind, interrupts, timeout, payload, ...values }) => {
      const value = { interruptOnError: interrupts }
      const wait = durationOf(timeout)
      const wanted = {
        name: values.name.trim(),
        endpoint: values.endpoint.trim(),
        ...(wait && { timeout: wait }),
        payloadType: payloads[payload],
        targetType:
          kind === "async"
            ? ({ case: "restAsync", value: {} } as const)
            : ({ case: cases[kind], value } as const),
      }
      if (target) await call(updateTarget, { id: target.id, ...wanted })
      else onMade?.({ ...wanted, ...(await call(createTarget, wanted)) })
    },
    fields: ({ text, choice, check, duration, select, values }) => [
      text("name", t("field.name"), { required: true }),
      text("endpoint", t("targets.endpoint"), {
        type: "url",
        maxLength: 2048,
        ...verbatim,
        required: true,
        hint: t("targets.endpoint_hint"),
        placeholder: "https://",
      }),
      choice("kind", t("field.kind"), {
        of: kinds,
        words: (kind) => t(`targets.kind.${kind}`),
        hints: (kind) => t(`targets.kind.${kind}.hint`),
      }),
      values.kind !== "async" &&
        check("interrupts", t("targets.interrupts"), t("targets.interrupts_hint")),
      duration("timeout", t("targets.timeout"), { hint: t("targets.timeout_hint") }),
      select("payload", t("targets.payload"), {
        of: payloadNames,
        words: (name) => t(`targets.payload.${name}`),
        hint: t("targets.payload_hint"),
      }),
    ],
  })
