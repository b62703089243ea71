import { durationFromMs } from "@bufbuild/protobuf/wkt"
import { ActionService } from "../../../src/gen/core/action/v2/action_service_pb.ts"
import { PayloadType, type Target } from "../../../src/gen/core/action/v2/target_pb.ts"
import {
  amountFromDuration,
  defineForm,
  durationFromAmount,
  type RenderForm,
  verbatim,
} from "../form/index.ts"
import { call, t } from "../shell/index.ts"

/**
 * webhook: the response is ignored; call: the response is used; async: the request doesn't wait.
 */
export const targetKinds = ["webhook", "call", "async"] as const
export type TargetKind = (typeof targetKinds)[number]

const messageCases = { webhook: "restWebhook", call: "restCall", async: "restAsync" } as const

const payloadTypes = {
  json: PayloadType.JSON,
  jwt: PayloadType.JWT,
  jwe: PayloadType.JWE,
} as const
const payloadNames = ["json", "jwt", "jwe"] as const
type PayloadName = (typeof payloadNames)[number]

export const targetKindOf = ({ targetType }: Target): TargetKind =>
  targetKinds.find((kind) => messageCases[kind] === targetType.case) ?? "webhook"

export const payloadOf = ({ payloadType }: Target): PayloadName =>
  payloadNames.find((name) => payloadTypes[name] === payloadType) ?? "json"

export const interruptsOnError = ({ targetType: { case: kind, value } }: Target): boolean =>
  (kind === "restWebhook" || kind === "restCall") && value.interruptOnError

/** A new target with its signing key, which is shown only once. */
export type CreatedTarget = { readonly name: string; readonly signingKey: string }

const { createTarget, updateTarget } = ActionService.method

/** Creates or edits a target; passes on the signing key of a new one. */
export const targetForm = (
  target: Target | undefined,
  onCreated?: (created: CreatedTarget) => void,
): RenderForm =>
  defineForm({
    initial: {
      name: target?.name ?? "",
      endpoint: target?.endpoint ?? "",
      kind: target ? targetKindOf(target) : "webhook",
      timeout: amountFromDuration(target?.timeout ?? durationFromMs(10_000), "seconds"),
      interrupts: target ? interruptsOnError(target) : false,
      payload: target ? payloadOf(target) : "json",
    },
    authored: true,
    save: async ({ kind, interrupts, timeout, payload, ...values }) => {
      const value = { interruptOnError: interrupts }
      const wait = durationFromAmount(timeout)
      const request = {
        name: values.name.trim(),
        endpoint: values.endpoint.trim(),
        ...(wait && { timeout: wait }),
        payloadType: payloadTypes[payload],
        targetType:
          kind === "async"
            ? ({ case: "restAsync", value: {} } as const)
            : ({ case: messageCases[kind], value } as const),
      }
      if (target) await call(updateTarget, { id: target.id, ...request })
      else onCreated?.({ ...request, ...(await call(createTarget, request)) })
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
        of: targetKinds,
        label: (kind) => t(`targets.kind.${kind}`),
        hints: (kind) => t(`targets.kind.${kind}.hint`),
      }),
      values.kind !== "async" &&
        check("interrupts", t("targets.interrupts"), t("targets.interrupts_hint")),
      duration("timeout", t("targets.timeout"), { hint: t("targets.timeout_hint") }),
      select("payload", t("targets.payload"), {
        of: payloadNames,
        label: (name) => t(`targets.payload.${name}`),
        hint: t("targets.payload_hint"),
      }),
    ],
  })
