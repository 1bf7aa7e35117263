/** Commands of S3 clients for a volume, ready to be copied. */
interface Place {
  id: string;
  dataCenter: string;
}

export const s3Url = (origin: string) => `${origin}/s3`;

export function awsCommands({ id, dataCenter }: Place, origin: string): string {
  const where = `--endpoint-url ${s3Url(origin)} --region ${dataCenter}`;
  return [
    "export AWS_ACCESS_KEY_ID=… AWS_SECRET_ACCESS_KEY=…",
    `aws s3 ls s3://${id}/ ${where}`,
    `aws s3 cp model.safetensors s3://${id}/models/ ${where}`,
    `aws s3 sync ./data s3://${id}/data ${where}`,
  ].join("\n");
}

export function rcloneCommands({ id, dataCenter }: Place, origin: string): string {
  return [
    `rclone config create millrace s3 provider=Other endpoint=${s3Url(origin)} region=${dataCenter} force_path_style=true access_key_id=… secret_access_key=…`,
    `rclone ls millrace:${id}`,
    `rclone copy ./models millrace:${id}/models --progress`,
  ].join("\n");
}
