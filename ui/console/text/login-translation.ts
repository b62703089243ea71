import type { JsonObject } from "@bufbuild/protobuf"
import { SettingsService } from "../../../src/gen/core/settings/v2/settings_service_pb.ts"
import { call, useReadIfAllowed } from "../shell/index.ts"
import type { TextOwner } from "./message-text.ts"
import { flat, type Texts } from "./text-key.ts"

const { getHostedLoginTranslation, setHostedLoginTranslation } = SettingsService.method

const levelOf = (place: TextOwner) =>
  place === undefined
    ? ({ case: "instance", value: true } as const)
    : ({ case: "organizationId", value: place } as const)

/**
 * What a place says of its own, and what is said without it; undefined where one may not see it.
 */
export function useLoginTexts(place: TextOwner, locale: string) {
  const level = levelOf(place)
  const above =
    place === undefined
      ? ({ case: "system", value: true } as const)
      : ({ case: "instance", value: true } as const)
  const own = useReadIfAllowed(getHostedLoginTranslation, {
    level,
    locale,
    ignoreInheritance: true,
  })
  const inherited = useReadIfAllowed(getHostedLoginTranslation, { level: above, locale })
  if (!own || !inherited) return undefined
  return { own: flat(own.translations ?? {}), inherited: flat(inherited.translations ?? {}) }
}

/** Says again what a place has taken back; what it has said of its own since stays. */
export async function restoreLoginTexts(place: TextOwner, locale: string, texts: Texts) {
  const level = levelOf(place)
  const asked = { level, locale, ignoreInheritance: true }
  const { translations } = await call(getHostedLoginTranslation, asked)
  await saveLoginTexts(place, locale, { ...texts, ...flat(translations ?? {}) })
}

/** Says all that the place says in this language; what is empty comes from above. */
export async function saveLoginTexts(
  place: TextOwner,
  locale: string,
  texts: Texts,
): Promise<void> {
  const said = Object.entries(texts).filter(([, text]) => text !== "")
  // Keys that are sent whole are read like those in parts.
  const translations: JsonObject = Object.fromEntries(said)
  await call(setHostedLoginTranslation, { level: levelOf(place), locale, translations })
}
