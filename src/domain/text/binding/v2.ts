import { bindHandlers } from "../../../api/method.ts"
import type {
  GetHostedLoginTranslationRequest,
  SetHostedLoginTranslationRequest,
} from "../../../gen/core/settings/v2/settings_service_pb.ts"
import { SettingsService } from "../../../gen/core/settings/v2/settings_service_pb.ts"
import type { Cx } from "../../../store/index.ts"
import { customTextsAt, putText, type TextOwner, validateLanguage } from "../commands.ts"
import { keyTemplate } from "../login-templates.ts"
import { customLoginTexts } from "../login-texts.ts"
import type { Texts } from "../model.ts"
import { etagOf, flattenTexts, nestTexts } from "../translation.ts"

export const v2 = bindHandlers<Cx>()(SettingsService, {
  getHostedLoginTranslation: (req, cx) => {
    validateLanguage(req.locale)
    const texts = shownTo(cx, req)
    return { etag: etagOf(texts), translations: nestTexts(texts) }
  },
  setHostedLoginTranslation: async ({ level, locale: language, translations = {} }, cx) => {
    await putText(
      cx,
      placeOf(level),
      { template: keyTemplate, language },
      flattenTexts(translations),
    )
    const ref = { template: keyTemplate.name, language }
    return { etag: etagOf(customTextsAt(cx, placeOf(level), ref) ?? {}) }
  },
})

type Level = (GetHostedLoginTranslationRequest | SetHostedLoginTranslationRequest)["level"]

const placeOf = ({ case: level, value }: Level): TextOwner =>
  level === "organizationId" ? value : undefined

function shownTo(cx: Cx, request: GetHostedLoginTranslationRequest): Texts {
  const { level, locale: language, ignoreInheritance } = request
  const standard = keyTemplate.defaults(language)
  if (level.case === "system") return standard
  const owner = placeOf(level)
  if (ignoreInheritance) {
    return customTextsAt(cx, owner, { template: keyTemplate.name, language }) ?? {}
  }
  return { ...standard, ...customLoginTexts(cx, owner, language)?.texts }
}
