export type { MailLook } from "./look.ts"
export { type MailPage, renderMail } from "./mail.tsx"
