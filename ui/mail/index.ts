export { type MailPage, renderMail } from "./mail.tsx"
export type { MailBranding } from "./mail-branding.ts"
