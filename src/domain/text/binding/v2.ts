import { share } from "../../../api/method.ts"
import type {
  GetHostedLoginTranslationRequest,
  SetHostedLoginTranslationRequest,
} from "../../../gen/core/settings/v2/settings_service_pb.ts"
import { SettingsService } from "../../../gen/core/settings/v2/settings_service_pb.ts"
import type { Cx } from "../../../store/index.ts"
import { checkLanguage, type Place, putText, saidAt } from "../commands.ts"
import { keyTemplate } from "../login.ts"
import { loginWords } from "../login-words.ts"
import type { Texts } from "../model.ts"
import { etagOf, textsOf, translationOf } from "../translation.ts"

export const v2 = share<Cx>()(SettingsService, {
  getHostedLoginTranslation: (req, cx) => {
    checkLanguage(req.locale)
    const texts = shownTo(cx, req)
    return { etag: etagOf(texts), translations: translationOf(texts) }
  },
  setHostedLoginTranslation: async ({ level, locale: language, translations = {} }, cx) => {
    await putText(cx, placeOf(level), { template: keyTemplate, language }, textsOf(translations))
    const meant = { template: keyTemplate.name, language }
    return { etag: etagOf(saidAt(cx, placeOf(level), meant) ?? {}) }
  },
})

type Level = (GetHostedLoginTranslationRequest | SetHostedLoginTranslationRequest)["level"]

const placeOf = ({ case: level, value }: Level): Place =>
  level === "organizationId" ? value : undefined

function shownTo(cx: Cx, asked: GetHostedLoginTranslationRequest): Texts {
  const { level, locale: language, ignoreInheritance } = asked
  const standard = keyTemplate.standard(language)
  if (level.case === "system") return standard
  const place = placeOf(level)
  if (ignoreInheritance) {
    return saidAt(cx, place, { template: keyTemplate.name, language }) ?? {}
  }
  return { ...standard, ...loginWords(cx, place, language)?.texts }
}
