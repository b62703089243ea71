import type { JsonObject } from "@bufbuild/protobuf"
import { SettingsService } from "../../../src/gen/core/settings/v2/settings_service_pb.ts"
import { call, useReadIfAllowed } from "../shell/index.ts"
import type { TextOwner } from "./message-text.ts"
import { flatten, type Texts } from "./text-key.ts"

const { getHostedLoginTranslation, setHostedLoginTranslation } = SettingsService.method

const toLevel = (owner: TextOwner) =>
  owner === undefined
    ? ({ case: "instance", value: true } as const)
    : ({ case: "organizationId", value: owner } as const)

/** The owner's texts and the inherited ones; undefined if the caller can't read them. */
export function useLoginTexts(owner: TextOwner, locale: string) {
  const level = toLevel(owner)
  const above =
    owner === undefined
      ? ({ case: "system", value: true } as const)
      : ({ case: "instance", value: true } as const)
  const own = useReadIfAllowed(getHostedLoginTranslation, {
    level,
    locale,
    ignoreInheritance: true,
  })
  const inherited = useReadIfAllowed(getHostedLoginTranslation, { level: above, locale })
  if (!own || !inherited) return undefined
  return { own: flatten(own.translations ?? {}), inherited: flatten(inherited.translations ?? {}) }
}

/** Restores texts after a reset; texts set since are kept. */
export async function restoreLoginTexts(owner: TextOwner, locale: string, texts: Texts) {
  const level = toLevel(owner)
  const request = { level, locale, ignoreInheritance: true }
  const { translations } = await call(getHostedLoginTranslation, request)
  await saveLoginTexts(owner, locale, { ...texts, ...flatten(translations ?? {}) })
}

/** Saves all texts of the owner in a language; empty ones are inherited. */
export async function saveLoginTexts(
  owner: TextOwner,
  locale: string,
  texts: Texts,
): Promise<void> {
  const ownTexts = Object.entries(texts).filter(([, text]) => text !== "")
  // Flat keys are accepted like nested ones.
  const translations: JsonObject = Object.fromEntries(ownTexts)
  await call(setHostedLoginTranslation, { level: toLevel(owner), locale, translations })
}
