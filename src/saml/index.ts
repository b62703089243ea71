export { answering, onward } from "./answering.ts"
export { samlHandler } from "./handler.ts"
